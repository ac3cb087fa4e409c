//! The whole pipeline: capture files in, Arrow batches out.
//!
//! [`Decoder::next_batches`] is called until it gives `None`; then [`Decoder::finish`] tells what was read.
//! A file that breaks off ends its part of the decode; what was read of it stays.

mod meta;

mod stages;

use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

pub use self::meta::{Around, FileSummary, LINKS_LIMIT, Meta};
use self::stages::Stages;
use crate::capture::merge::{Merge, Next};
use crate::conversation::Conversations;
use crate::error::ReadError;
use crate::foresight::AT_ONCE;
use crate::order::{Fuller, Given, Order, Placed};
use crate::packet;
use crate::table::Choice;
use crate::witness::Witness;

/// Ports on which RPC is expected without proof: NFS, NFS over RDMA (used for TCP too), portmap.
pub const RPC_PORTS: [u16; 3] = [2049, 20049, 111];

/// Packets between two returns to the caller, so that it can show progress and be interrupted.
const PACKETS_PER_TURN: u64 = 1 << 18;

/// Rows of one table.
pub type Batch = (&'static str, RecordBatch);

/// Decodes captures.
pub struct Decoder {
    captures: Merge,
    order: Order,
    fuller: Fuller,
    stages: Stages,
    meta: Meta,
    frames: u64,
    /// All packets are read.
    ended: bool,
    finished: bool,
}

impl Decoder {
    /// Opens captures; several are read as one in order of time (see [`Merge`]).
    ///
    /// `ports` are taken for RPC without proof, beside [`RPC_PORTS`].
    pub fn open(paths: &[PathBuf], ports: &[u16]) -> Result<Self, ReadError> {
        Self::watched(paths, ports, None)
    }

    /// The same with somebody who watches.
    pub fn watched(
        paths: &[PathBuf],
        ports: &[u16],
        witness: Option<Box<dyn Witness>>,
    ) -> Result<Self, ReadError> {
        let captures = Merge::open(paths)?.asking(packet::timestamps);
        let file = |path: &Path| FileSummary { path: path.to_owned(), ..FileSummary::default() };
        let files = captures.paths().map(file).collect();
        let count = paths.len();
        let ports = RPC_PORTS.iter().chain(ports).copied().collect();
        Ok(Self {
            captures,
            order: Order::default(),
            fuller: Fuller::default(),
            stages: Stages::new(Conversations::new(ports, witness), count),
            meta: Meta { files, ..Meta::default() },
            frames: 0,
            ended: false,
            finished: false,
        })
    }

    /// Leaves out the tables and columns that nobody wants. To be called before anything is decoded.
    pub fn choose(&mut self, choice: &Choice) {
        self.stages.conversations.tables().choose(choice);
    }

    /// Allows what is known of files so much memory, in bytes; else it may take 1 GiB. Beyond it those that were
    /// of use longest ago are forgotten (`files_forgotten` in [`Meta::limits_hit`]).
    pub fn allow(&mut self, files_bytes: usize) {
        self.stages.conversations.allow(files_bytes);
    }

    /// Decodes on until there are rows enough for a batch, or for a while; `None` at the end.
    pub fn next_batches(&mut self) -> Result<Option<Vec<Batch>>, ArrowError> {
        let mut turn = 0;
        while !self.finished {
            if self.ended {
                self.finished = !self.stages.conversations.write_files();
                return self.stages.conversations.tables().take(self.finished).map(Some);
            }
            if self.frames.is_multiple_of(AT_ONCE as u64) {
                if self.stages.conversations.forget_files() {
                    return self.stages.conversations.tables().take(false).map(Some);
                }
                if self.stages.conversations.crowded() {
                    self.stages.conversations.make_room();
                    continue;
                }
                self.stages.foresee(&self.captures);
            }
            if !self.read_packet() {
                self.end();
            }
            turn += 1;
            if self.stages.conversations.tables().full() || turn >= PACKETS_PER_TURN {
                return self.stages.conversations.tables().take(false).map(Some);
            }
        }
        Ok(None)
    }

    /// Bytes read of the files, and their size; 0 when it is not known.
    pub fn progress(&self) -> (u64, u64) {
        (self.captures.consumed(), self.captures.total())
    }

    /// The same as a part, 0 to 1.
    pub fn done(&self) -> f64 {
        self.captures.done()
    }

    /// What was read. Complete once [`Decoder::next_batches`] gave `None`.
    pub fn finish(&self) -> &Meta {
        &self.meta
    }

    /// Takes the next packet through all stages. `false` at the end of all files.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "it is the body of a loop")]
    fn read_packet(&mut self) -> bool {
        if self.order.holding() || self.fuller.holding() {
            return self.read_other();
        }
        let Some((file, packet)) = self.captures.at_hand() else { return self.read_other() };
        self.frames += 1;
        self.meta.count(file, &packet, self.frames);
        if self.order.holds(packet.time_ns) {
            self.order.hold(file, self.frames, &packet);
            return self.read_other();
        }
        if packet.is_cut() && self.stages.may_have_more(self.frames) {
            self.fuller.hold(file, self.frames, &packet, true);
            return true;
        }
        self.stages.take(file, packet, self.frames);
        true
    }

    /// The same for packets that are not at hand, or held because the capture mixed them up.
    #[inline(never)]
    fn read_other(&mut self) -> bool {
        loop {
            if self.fuller.holding() && self.take_waiting(true)
                || self.order.holding() && self.take_held(true)
            {
                return true;
            }
            match self.captures.next() {
                Some(Next::Packet(file, packet)) => {
                    self.frames += 1;
                    self.meta.count(file, &packet, self.frames);
                    if self.order.holds(packet.time_ns) {
                        self.order.hold(file, self.frames, &packet);
                        continue;
                    }
                    if pass_on(&mut self.fuller, &mut self.stages, (file, self.frames, packet)) {
                        return true;
                    }
                }
                Some(Next::End(file, error)) => self.close(file, error.as_ref()),
                None => {
                    return self.order.holding() && self.take_held(false)
                        || self.fuller.holding() && self.take_waiting(false);
                }
            }
        }
    }

    /// Takes a packet that was held because the capture mixed up its packets. `more`: it may have others.
    #[cold]
    #[inline(never)]
    fn take_held(&mut self, more: bool) -> bool {
        let Some(Placed { file, frame, place, late, packet }) = self.order.release(more) else {
            return false;
        };
        // Who takes the packets once more takes them in this order, and counts them so.
        let frame = if self.stages.conversations.witness().is_some() { place } else { frame };
        if let Some(file) = self.meta.files.get_mut(file) {
            file.late_packets += u64::from(late);
        }
        pass_on(&mut self.fuller, &mut self.stages, (file, frame, packet));
        true
    }

    /// Takes a packet that waited for a copy with more of its bytes. `more`: there may be others in the captures.
    #[cold]
    #[inline(never)]
    fn take_waiting(&mut self, more: bool) -> bool {
        let Some((file, frame, packet)) = self.fuller.release(more) else { return false };
        self.stages.take_apart(file, packet, frame);
        true
    }

    fn close(&mut self, index: usize, error: Option<&ReadError>) {
        if let Some(file) = self.meta.files.get_mut(index) {
            file.close(self.captures.reader(index), error);
        }
    }

    /// Delivers what is still held.
    fn end(&mut self) {
        self.stages.end(&mut self.meta);
        self.ended = true;
    }
}

/// Takes a packet through all stages, or has it wait: for a copy with more of it, if it was cut, or behind one
/// that does. `true`: it was taken.
fn pass_on(fuller: &mut Fuller, stages: &mut Stages, (file, frame, packet): Given<'_>) -> bool {
    let waits = packet.is_cut() && stages.may_have_more(frame);
    let held = waits || fuller.holding();
    if held {
        fuller.hold(file, frame, &packet, waits);
    } else {
        stages.take_apart(file, packet, frame);
    }
    !held
}
