//! Which time of a packet is believed: the packets around it are asked, and both ends.

use super::Reader;
use crate::capture::pause::{self, Pause};
use crate::capture::timestamps::{self, Heard, Told};
use crate::capture::{Glimpse, clock};

impl Reader {
    /// Asks the packets that follow whether this one's time can be; gives the one to go by, and where the
    /// packet lies in the window now.
    #[cold]
    #[inline(never)]
    pub(super) fn doubt(&mut self, stated_ns: i64, mut start: usize) -> (i64, usize) {
        let told = self.listen_to_passed();
        let mut coming = self.coming();
        if coming.len() < clock::ASKED {
            start = self.look_ahead(start, clock::LOOKED_AHEAD);
            coming = self.coming();
        }
        let last_ns = self.clock.last_ns();
        let time_ns = self.clock.doubt(self.packets + 1, stated_ns, &coming);
        if time_ns != stated_ns {
            return (time_ns, start);
        }
        if let Some(last_ns) = last_ns.filter(|last_ns| time_ns > *last_ns && clock::stay(&coming, time_ns)) {
            start = self.ask_ends((last_ns, time_ns), told, start);
        }
        if let Some(timestamps) = &mut self.timestamps {
            timestamps.learn((time_ns.saturating_add(self.clock.shift_ns()), told));
        }
        (time_ns, start)
    }

    /// Reads on, so that so much of what follows the packet at `start` can be looked at; gives where that
    /// packet lies in the window now. What cannot be read will be told when it is due.
    fn look_ahead(&mut self, start: usize, length: usize) -> usize {
        let Ok(moved) = self.window.ensure_behind(start, length) else { return start };
        self.parser.moved(start, moved);
        moved
    }

    /// Asks both ends whether the clock was set forward before this packet; gives where that lies in the
    /// window now.
    fn ask_ends(&mut self, (last_ns, time_ns): (i64, i64), told: Option<Told>, mut start: usize) -> usize {
        let shift_ns = self.clock.shift_ns();
        let pause = (last_ns.saturating_add(shift_ns), time_ns.saturating_add(shift_ns));
        let mut found = Pause::Unknown;
        if self.timestamps.is_some() {
            for (packets, bytes) in pause::ASKED {
                start = self.look_ahead(start, bytes + packets * pause::AROUND);
                found = self.judge(pause, told, shift_ns, (packets, bytes));
                if found != Pause::Doubtful {
                    break;
                }
            }
        }
        match found {
            Pause::Real => {}
            Pause::Set(by_ns) => self.clock.note_forward(self.packets + 1, by_ns),
            Pause::Doubtful | Pause::Unknown => {
                self.clock.note_untold(self.packets + 1, time_ns.saturating_sub(last_ns));
                if let Some(timestamps) = &mut self.timestamps {
                    timestamps.unknown(pause);
                }
            }
        }
        start
    }

    /// What so many packets tell, of no more bytes than this.
    fn judge(
        &self,
        pause_ns: (i64, i64),
        told: Option<Told>,
        shift_ns: i64,
        (packets, mut bytes): (usize, usize),
    ) -> Pause {
        let Some(timestamps) = &self.timestamps else { return Pause::Unknown };
        let fits = move |glimpse: &Glimpse<'_>| {
            let rest = bytes.checked_sub(glimpse.bytes.len());
            bytes = rest.unwrap_or_default();
            rest.is_some()
        };
        let coming = self.glimpses().take(packets).take_while(fits);
        let coming = coming.map(|glimpse| timestamps.hear(&glimpse, shift_ns));
        pause::judge(timestamps, pause_ns, std::iter::once((pause_ns.1, told)).chain(coming))
    }

    /// Listens to the packets that passed since it was done last, of which none has an odd time but the
    /// last one: gives what that tells.
    fn listen_to_passed(&mut self) -> Option<Told> {
        let Self { window, parser, timestamps, clock, heard, .. } = self;
        let timestamps = timestamps.as_mut()?;
        let passed = window.passed_from(std::mem::replace(heard, window.offset()));
        let shift_ns = clock.shift_ns();
        let mut packets: Vec<Heard> =
            parser.walk(passed)?.iter().map(|glimpse| timestamps.hear(glimpse, shift_ns)).collect();
        let (_, told) = packets.pop()?;
        for packet in packets {
            timestamps.learn(packet);
        }
        told
    }

    /// Listens to some of the packets to come, if it is time to.
    pub(super) fn listen(&mut self, time_ns: i64) {
        let Self { window, parser, timestamps: Some(timestamps), clock, .. } = self else { return };
        let (near, shift_ns) = (clock.near(time_ns), clock.shift_ns());
        let time_ns = time_ns.saturating_add(shift_ns);
        if near && timestamps.due(time_ns) {
            let packets = parser.glimpses(window.ahead()).take(timestamps::LISTENED);
            let heard: Vec<Heard> = packets.map(|glimpse| timestamps.hear(&glimpse, shift_ns)).collect();
            timestamps.listen(time_ns, heard.into_iter());
        }
    }

    /// The times of the next packets.
    fn coming(&self) -> Vec<i64> {
        self.glimpses().take(clock::ASKED).map(|glimpse| glimpse.time_ns).collect()
    }
}
