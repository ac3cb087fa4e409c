//! How often, and for how long, a side announced a window of 0: it takes no more for now.
//!
//! Takes the windows that it announced. Promises that a side which never shuts its window takes no memory
//! for this.

/// The windows of 0 of a side. Most have none.
#[derive(Clone, Debug, Default)]
pub struct ZeroWindows(Option<Box<Known>>);

/// What is known of them.
#[derive(Clone, Debug, Default)]
struct Known {
    count: u64,
    /// How long those took that are over, nanoseconds.
    lasted_ns: i64,
    /// Since when the window has been 0.
    since: Option<i64>,
}

impl ZeroWindows {
    /// Takes a window that was announced.
    #[inline]
    pub(super) fn announced(&mut self, window: u16, time_ns: i64) {
        if window == 0 {
            let known = self.0.get_or_insert_default();
            known.count += 1;
            known.since.get_or_insert(time_ns);
        } else if let Some(known) = &mut self.0
            && let Some(since) = known.since.take()
        {
            let lasted = time_ns.saturating_sub(since).max(0);
            known.lasted_ns = known.lasted_ns.saturating_add(lasted);
        }
    }

    /// Whether the window is 0 now.
    #[inline]
    pub(super) fn is_shut(&self) -> bool {
        self.0.as_ref().is_some_and(|known| known.since.is_some())
    }

    /// Segments that announced a window of 0.
    pub fn count(&self) -> u64 {
        self.0.as_ref().map_or(0, |known| known.count)
    }

    /// For how long the window was 0, from each announcement to the next larger one, nanoseconds, when the
    /// connection was last seen at `last_ns`.
    pub fn lasted_until(&self, last_ns: i64) -> i64 {
        self.0.as_ref().map_or(0, |known| {
            let open = known.since.map_or(0, |since| last_ns.saturating_sub(since).max(0));
            known.lasted_ns.saturating_add(open)
        })
    }
}
