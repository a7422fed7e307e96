use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::store::{KeyQuota, Store};
use sha2::{Digest, Sha256};

const WINDOW_SECONDS: [i64; 2] = [60, 86_400];

/// Checks keys, and counts each one in two fixed windows, which are kept in memory.
#[derive(Default)]
pub struct Admission {
    windows: Mutex<HashMap<String, [Window; 2]>>,
}

#[derive(Default, Clone, Copy)]
struct Window {
    count: i64,
    ends_at: i64,
}

/// The values of the three headers that tell a caller its limits.
pub struct Limits {
    pub limit: i64,
    pub remaining: i64,
    /// In seconds since 1970.
    pub reset: i64,
}

pub enum Refusal {
    NoKey,
    TooMuch(Limits),
}

impl Admission {
    /// Counts a request by its Authorization header.
    pub fn admit(&self, authorization: Option<&str>, store: &Store) -> Result<Limits, Refusal> {
        let secret = authorization
            .and_then(|value| value.strip_prefix("Bearer "))
            .ok_or(Refusal::NoKey)?;
        match store.find_key(&Sha256::digest(secret)) {
            Ok(Some(key)) => self.count(key),
            _ => Err(Refusal::NoKey),
        }
    }

    fn count(&self, key: KeyQuota) -> Result<Limits, Refusal> {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs() as i64);
        let mut all = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let [minute, day] = all.entry(key.id).or_default();
        minute.renew(now, WINDOW_SECONDS[0]);
        day.renew(now, WINDOW_SECONDS[1]);
        let is_admitted = minute.count < key.per_minute && day.count < key.per_day;
        if is_admitted {
            minute.count += 1;
            day.count += 1;
        }
        let (in_minute, in_day) = (minute.limits(key.per_minute), day.limits(key.per_day));
        let limits = if in_minute.remaining < in_day.remaining {
            in_minute
        } else {
            in_day
        };
        if is_admitted {
            Ok(limits)
        } else {
            Err(Refusal::TooMuch(limits))
        }
    }
}

impl Window {
    fn renew(&mut self, now: i64, seconds: i64) {
        if self.ends_at <= now {
            *self = Window {
                count: 0,
                ends_at: now + seconds,
            };
        }
    }

    fn limits(&self, limit: i64) -> Limits {
        Limits {
            limit,
            remaining: limit - self.count,
            reset: self.ends_at,
        }
    }
}
