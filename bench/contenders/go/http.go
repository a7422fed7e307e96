package main

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strconv"
)

// serveHTTP serves the REST API by net/http and encoding/json.
func serveHTTP(listener net.Listener, store *Store) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/inventory", func(w http.ResponseWriter, _ *http.Request) {
		found, err := store.List()
		answer(w, found, err)
	})
	mux.HandleFunc("GET /v1/inventory/{petId}", withPet(func(w http.ResponseWriter, _ *http.Request, petID int64) {
		found, err := store.Get(petID)
		answer(w, found, err)
	}))
	mux.HandleFunc("PATCH /v1/inventory/{petId}", withPet(func(w http.ResponseWriter, r *http.Request, petID int64) {
		var update struct {
			Quantity *int64 `json:"quantity"`
		}
		if err := json.NewDecoder(r.Body).Decode(&update); err != nil || update.Quantity == nil {
			fail(w, http.StatusBadRequest, "INVALID_ARGUMENT", "send a quantity")
			return
		}
		updated, err := store.Update(petID, *update.Quantity)
		answer(w, updated, err)
	}))
	return http.Serve(listener, guarded(mux, newAdmission(store)))
}

func withPet(handle func(http.ResponseWriter, *http.Request, int64)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		petID, err := strconv.ParseInt(r.PathValue("petId"), 10, 64)
		if err != nil {
			fail(w, http.StatusBadRequest, "INVALID_ARGUMENT", "a pet's id is an integer")
			return
		}
		handle(w, r, petID)
	}
}

// guarded lets requests with a key within its limits pass.
func guarded(next http.Handler, admission *Admission) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limits, err := admission.Admit(r.Header.Get("Authorization"))
		if errors.Is(err, errNoKey) {
			fail(w, http.StatusUnauthorized, "API_KEY_INVALID", err.Error())
			return
		}
		header := w.Header()
		header.Set("X-RateLimit-Limit", limits.Limit)
		header.Set("X-RateLimit-Remaining", limits.Remaining)
		header.Set("X-RateLimit-Reset", limits.Reset)
		if err != nil {
			fail(w, http.StatusTooManyRequests, "RATE_LIMITED", err.Error())
			return
		}
		next.ServeHTTP(w, r)
	})
}

func answer(w http.ResponseWriter, value any, err error) {
	switch {
	case errors.Is(err, errNoPet):
		fail(w, http.StatusNotFound, "PET_NOT_FOUND", err.Error())
	case err != nil:
		fail(w, http.StatusInternalServerError, "INTERNAL", "internal error")
	default:
		write(w, http.StatusOK, value)
	}
}

func fail(w http.ResponseWriter, status int, code, message string) {
	write(w, status, map[string]any{"code": code, "message": message, "status": status})
}

func write(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
