//! Ends or interrupts a search from outside: a deadline, a request to stop, a pause.
//!
//! The search checks it before every simulation, so it reads the time only about every quarter of a
//! millisecond; with slow evaluations that is at every check.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::contracts::config::Stop;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    Go,
    /// Return to the caller; the search will be resumed.
    Pause,
    Stop(Stop),
}

#[derive(Debug)]
pub struct Clock<'a> {
    deadline: Option<Instant>,
    pause: Option<Instant>,
    asked: &'a AtomicBool,
    /// Checks left before the time is read again.
    skip: u32,
    stride: u32,
    last: Instant,
}

const INTERVAL: Duration = Duration::from_micros(250);

impl<'a> Clock<'a> {
    pub fn new(deadline: Option<Instant>, pause: Option<Instant>, asked: &'a AtomicBool) -> Self {
        Self {
            deadline,
            pause,
            asked,
            skip: 0,
            stride: 1,
            last: Instant::now(),
        }
    }

    #[inline]
    pub fn signal(&mut self) -> Signal {
        if self.asked.load(Ordering::Relaxed) {
            return Signal::Stop(Stop::External);
        }
        if self.skip > 0 {
            self.skip -= 1;
            return Signal::Go;
        }
        self.read_time()
    }

    /// Simulations that fit before the deadline at the speed of `started` ones since `began`; the
    /// time is that of the last reading.
    pub fn simulations_left(&self, began: Instant, started: u64) -> Option<u64> {
        let elapsed = self.last.saturating_duration_since(began).as_secs_f64();
        let left = self
            .deadline?
            .saturating_duration_since(self.last)
            .as_secs_f64();
        Some((started as f64 / elapsed.max(1e-9) * left).ceil() as u64)
    }

    /// Reads the time and returns the signal.
    #[cold]
    fn read_time(&mut self) -> Signal {
        let now = Instant::now();
        self.stride = if now - self.last < INTERVAL {
            (2 * self.stride).min(256)
        } else {
            (self.stride / 4).max(1)
        };
        (self.skip, self.last) = (self.stride - 1, now);
        let passed = |moment: Option<Instant>| moment.is_some_and(|moment| now >= moment);
        if passed(self.deadline) {
            self.skip = 0; // a search that cannot stop yet checks again
            Signal::Stop(Stop::Seconds)
        } else if passed(self.pause) {
            Signal::Pause
        } else {
            Signal::Go
        }
    }
}
