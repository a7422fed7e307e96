package main

import (
	"crypto/sha256"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"
)

var (
	errNoKey    = errors.New("send a valid API key")
	errTooMuch  = errors.New("the rate limit is exceeded")
	windowSizes = [2]time.Duration{time.Minute, 24 * time.Hour}
)

// Admission checks keys, and counts each one in two fixed windows, which are kept in memory.
type Admission struct {
	store   *Store
	mutex   sync.Mutex
	windows map[string]*[2]window
}

type window struct {
	count int64
	ends  time.Time
}

// Limits are the values of the three headers that tell a caller its limits.
type Limits struct {
	Limit, Remaining, Reset string
}

func newAdmission(store *Store) *Admission {
	return &Admission{store: store, windows: map[string]*[2]window{}}
}

// Admit counts a request by its Authorization header. It returns errNoKey, or errTooMuch with the limits.
func (a *Admission) Admit(authorization string) (Limits, error) {
	secret, isBearer := strings.CutPrefix(authorization, "Bearer ")
	if !isBearer {
		return Limits{}, errNoKey
	}
	hash := sha256.Sum256([]byte(secret))
	key, err := a.store.FindKey(hash[:])
	if err != nil {
		return Limits{}, errNoKey
	}
	return a.count(key, time.Now())
}

func (a *Admission) count(key KeyQuota, now time.Time) (limits Limits, err error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	windows := a.windows[key.ID]
	if windows == nil {
		windows = &[2]window{}
		a.windows[key.ID] = windows
	}
	for index := range windows {
		if !windows[index].ends.After(now) {
			windows[index] = window{ends: now.Add(windowSizes[index])}
		}
	}
	minute, day := &windows[0], &windows[1]
	if minute.count < key.PerMinute && day.count < key.PerDay {
		minute.count++
		day.count++
	} else {
		err = errTooMuch
	}
	if key.PerMinute-minute.count < key.PerDay-day.count {
		return describe(key.PerMinute, minute), err
	}
	return describe(key.PerDay, day), err
}

func describe(limit int64, w *window) Limits {
	return Limits{
		Limit:     strconv.FormatInt(limit, 10),
		Remaining: strconv.FormatInt(limit-w.count, 10),
		Reset:     strconv.FormatInt(w.ends.Unix(), 10),
	}
}
