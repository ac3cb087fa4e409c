//! One capture file that is being read: its packets one at a time, damage and all.

mod times;

use std::io::Read;
use std::path::{Path, PathBuf};

use super::clock::{Clock, Set, Untold};
use super::compression::{self, Compression, Source};
use super::output::Interface;
use super::packed::Trailing;
use super::parser::{Parser, Record};
use super::resume;
use super::sniff;
use super::timestamps::{self, Timestamps};
use super::window::{Fault, Window};
use super::{Details, Format, Glimpse, LinkType, Packet};
use crate::error::{ReadError, Resumed};

/// Whether a file is a capture by its first bytes, unpacked where it is compressed: of a format that is read, or
/// of another program's. `None` where that cannot be told, since it cannot be unpacked so far.
///
/// Errors: [`ReadError::Io`] where the operating system refuses, [`ReadError::Format`] of a directory.
pub fn is_capture(path: &Path) -> Result<Option<bool>, ReadError> {
    let found = match Source::open(path)?.decompressed() {
        Ok((mut window, ..)) => sniff::is_capture(&mut window),
        Err(Fault::Format(_)) => Ok(None),
        Err(fault) => Err(fault),
    };
    found.map_err(|fault| fault.at(path, 0))
}

/// One capture file that is being read.
pub struct Reader {
    path: PathBuf,
    window: Window,
    parser: Parser,
    compression: Compression,
    counter: compression::Counter,
    trailing: Trailing,
    packets: u64,
    clock: Clock,
    /// The clocks of those that are captured, if they are asked.
    timestamps: Option<Box<Timestamps>>,
    /// Up to where they were listened to, in the (decompressed) file.
    heard: u64,
    /// Captures begun in the file so far, as the clock knows.
    begun: u64,
    /// What was read of the next packet to know its time, with the time that is believed.
    ahead: Option<Result<Option<(Record, i64)>, Fault>>,
    ended: bool,
    /// The first damage behind which the file was taken up again, and the packets before it.
    damage: Option<(Fault, u64)>,
    resumed: Resumed,
}

impl Reader {
    /// Opens a capture file by its first bytes; the path `-` is standard input.
    ///
    /// Errors: [`ReadError::Io`] where the operating system refuses, [`ReadError::Format`] where the
    /// file is something else, [`ReadError::Empty`] where it holds nothing, [`ReadError::Damaged`] where it
    /// ends within its own header.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Self::of_source(path, Source::open(path)?)
    }

    /// Reads a capture from any source of bytes; `path` is what errors call it.
    ///
    /// Errors: as of [`Reader::open`].
    pub fn from_bytes(path: &Path, bytes: impl Read + Send + 'static) -> Result<Self, ReadError> {
        Self::of_source(path, Source::of(bytes))
    }

    fn of_source(path: &Path, source: Source) -> Result<Self, ReadError> {
        let report = |fault: Fault| fault.at(path, 0);
        let counter = source.counter();
        let (mut window, compression, trailing) = source.decompressed().map_err(report)?;
        let parser = Parser::open(&mut window, compression).map_err(report)?;
        let (path, begun) = (path.to_owned(), parser.begun());
        Ok(Self {
            path,
            window,
            parser,
            compression,
            counter,
            trailing,
            packets: 0,
            clock: Clock::new(),
            timestamps: None,
            heard: 0,
            begun,
            ahead: None,
            ended: false,
            damage: None,
            resumed: Resumed::default(),
        })
    }

    /// Has both ends asked whether the clock was set, by their timestamps.
    #[must_use]
    pub fn asking(mut self, find: timestamps::Find) -> Self {
        self.timestamps = Some(Box::new(Timestamps::new(find)));
        self
    }

    /// The next packet, or `None` at the end of the file.
    ///
    /// Errors: [`ReadError::Io`] and [`ReadError::Damaged`], once; afterwards the file has ended.
    #[expect(clippy::should_implement_trait, reason = "it lends, which `Iterator` cannot")]
    #[inline]
    pub fn next(&mut self) -> Result<Option<Packet<'_>>, ReadError> {
        if let Some(record) = self.usual() {
            return Ok(Some(self.packet(&record, record.stated_ns)));
        }
        if self.ended {
            return Ok(None);
        }
        match self.read_apart() {
            Ok(Some((record, time_ns))) => Ok(Some(self.packet(&record, time_ns))),
            Ok(None) => self.end(None),
            Err(fault) => self.end(Some(fault)),
        }
    }

    /// The next packet if it is at hand and usual, as nearly all are; else it is left to [`Reader::next`].
    ///
    /// Apart from that, which has more to give: what could be either would lie in memory, and whoever takes
    /// the packet would wait until it does.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "into the decode's loop")]
    pub fn at_hand(&mut self) -> Option<Packet<'_>> {
        let record = self.usual()?;
        Some(self.packet(&record, record.stated_ns))
    }

    /// The next packet, if it is at hand and its time is believed as it stands.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "into the decode's loop")]
    fn usual(&mut self) -> Option<Record> {
        if self.ended || self.ahead.is_some() {
            return None;
        }
        let record = self.parser.at_hand(&mut self.window)?;
        if !self.clock.goes_on(record.stated_ns) {
            // Numbers alone, so that the record of other packets need not lie in memory.
            let (time_ns, start) = self.doubt(record.stated_ns, record.start);
            self.ahead = Some(Ok(Some((Record { start, ..record }, time_ns))));
            return None;
        }
        Some(record)
    }

    /// The packet that was read.
    #[inline]
    fn packet(&mut self, record: &Record, time_ns: i64) -> Packet<'_> {
        self.packets += 1;
        Packet {
            number: self.packets,
            time_ns: time_ns + self.clock.shift_ns(),
            stated_ns: record.stated_ns,
            link: record.link,
            wire_length: record.wire_length,
            bytes: self.window.held(record.start, record.captured),
        }
    }

    #[cold]
    fn end(&mut self, fault: Option<Fault>) -> Result<Option<Packet<'_>>, ReadError> {
        self.ended = true;
        self.report(fault).map_or(Ok(None), Err)
    }

    /// The time of the packet that [`Reader::next`] will give, by the file's own clock, set back or not;
    /// `None` where it will give none.
    #[inline(never)]
    pub fn next_time_ns(&mut self) -> Option<i64> {
        if self.ended {
            return None;
        }
        let ahead = match self.ahead.take() {
            Some(ahead) => ahead,
            None => self.read_believed(),
        };
        match self.ahead.insert(ahead) {
            Ok(Some((_, time_ns))) => Some(*time_ns),
            Ok(None) | Err(_) => None,
        }
    }

    /// The next packet where it is not at hand, or was read to know its time.
    #[cold]
    #[inline(never)]
    fn read_apart(&mut self) -> Result<Option<(Record, i64)>, Fault> {
        match self.ahead.take() {
            Some(ahead) => ahead,
            None => self.read_believed(),
        }
    }

    /// Packets that will come next, as far as they were read from the file: none where that is not
    /// easily said. Nothing is checked; what comes of a damaged file may be something else.
    pub fn glimpses(&self) -> impl Iterator<Item = Glimpse<'_>> + Clone {
        self.parser.glimpses(self.window.ahead())
    }

    /// The next packet with the time that is believed.
    fn read_believed(&mut self) -> Result<Option<(Record, i64)>, Fault> {
        let found = match self.parse() {
            Err(fault) => self.read_on(fault)?,
            Ok(found) => found,
        };
        let Some(mut record) = found else { return Ok(None) };
        let mut time_ns = record.stated_ns;
        if !self.clock.goes_on(time_ns) {
            (time_ns, record.start) = self.doubt(record.stated_ns, record.start);
        }
        Ok(Some((record, time_ns)))
    }

    fn parse(&mut self) -> Result<Option<Record>, Fault> {
        match self.parser.at_hand(&mut self.window) {
            Some(record) => Ok(Some(record)),
            None => self.parse_on(),
        }
    }

    /// The same, reading on in the file: only here another capture may begin.
    #[cold]
    #[inline(never)]
    fn parse_on(&mut self) -> Result<Option<Record>, Fault> {
        let found = self.parser.read(&mut self.window);
        let begun = self.parser.begun();
        if std::mem::replace(&mut self.begun, begun) != begun {
            self.clock.begin();
            if let Some(timestamps) = &mut self.timestamps {
                timestamps.begin();
            }
        }
        if let Ok(Some(record)) = &found {
            self.listen(record.stated_ns);
        }
        found
    }

    /// Takes the file up again behind damage, if it goes on.
    #[cold]
    #[inline(never)]
    fn read_on(&mut self, mut fault: Fault) -> Result<Option<Record>, Fault> {
        while matches!(fault, Fault::Damaged(_)) && self.resumed.places < resume::LIMIT {
            let Some(passed) = self.resume()? else { break };
            self.resumed.note(passed);
            self.damage.get_or_insert((fault, self.packets));
            match self.parse() {
                Err(next) => fault = next,
                found => return found,
            }
        }
        Err(fault)
    }

    /// Moves on to where packets follow one another again: over how many bytes, if they do.
    fn resume(&mut self) -> Result<Option<u64>, Fault> {
        let Self { window, parser, packets, .. } = self;
        let usual = resume::longest(window.passed(), |bytes| parser.guess(bytes));
        let untimed = *packets <= 1;
        let mut passed = 1; // What is damaged does not begin where it should.
        window.advance(1);
        loop {
            let rest = !window.ensure(resume::LOOKED_AT)?;
            let ahead = window.ahead();
            let mut place = resume::find(ahead, rest, usual, |bytes| parser.guess(bytes));
            if place.is_none() && untimed {
                place = parser.begin_anew(ahead, rest);
            }
            if let Some(place) = place {
                window.advance(place);
                return Ok(Some(passed + place as u64));
            }
            if rest {
                return Ok(None);
            }
            window.advance(resume::SEARCHED);
            passed += resume::SEARCHED as u64;
        }
    }

    /// What is wrong with the file, at its end.
    fn report(&mut self, end: Option<Fault>) -> Option<ReadError> {
        match (self.damage.take(), end) {
            (Some((first, packets)), end) => {
                let mut resumed = std::mem::take(&mut self.resumed);
                resumed.end = end.map(|end| end.at(&self.path, self.packets).what());
                Some(first.at(&self.path, packets).with(resumed))
            }
            (None, end) => end.map(|end| end.at(&self.path, self.packets)),
        }
    }

    /// What the file says of the packet that [`Reader::next`] gave last.
    pub fn details(&self) -> Details<'_> {
        self.parser.details(&self.window)
    }

    /// An interface of the section that is read, by its place; pcap has one.
    pub fn interface(&self, place: usize) -> Option<Interface<'_>> {
        self.parser.interface(place)
    }

    /// The file's format and compression.
    pub fn format(&self) -> Format {
        Format { container: self.parser.container(), compression: self.compression }
    }

    /// The link type that the file's header states; `None` where each interface has its own.
    pub fn link(&self) -> Option<LinkType> {
        self.parser.link()
    }

    /// The most bytes kept of a packet: the largest of the interfaces met so far; 0 = not stated.
    pub fn snaplen(&self) -> u32 {
        self.parser.snaplen()
    }

    /// Bytes of the file, as it is stored, that were read so far. For progress.
    pub fn consumed(&self) -> u64 {
        self.counter.bytes()
    }

    /// Packets that the capturing machine lost, where the file says so (pcapng `isb_ifdrop` and `isb_osdrop`,
    /// the last of each interface; snoop's cumulative drops). Complete after the last packet.
    pub fn dropped(&self) -> Option<u64> {
        self.parser.dropped()
    }

    /// Captures that follow the first one in the same file, as `cat` puts them there. Sections of pcapng
    /// are none: they belong there.
    pub fn followers(&self) -> u64 {
        self.parser.followers()
    }

    /// Bytes behind the compressed data that begin no more of it, unless they are zeros. Complete after the
    /// last packet.
    pub fn trailing_bytes(&self) -> u64 {
        self.trailing.bytes()
    }

    /// How often the file was taken up again, behind damage or with another capture: there, what comes
    /// need not be what [`Reader::glimpses`] saw.
    pub fn taken_up(&self) -> u64 {
        self.resumed.places + self.followers()
    }

    /// Packets so far whose times cannot be: that of the packet before stands for each.
    pub fn mistimed(&self) -> u64 {
        self.clock.mistimed()
    }

    /// How often the clock of the capture was set back, so far. Only what is larger than a second is seen.
    pub fn set_back(&self) -> Set {
        self.clock.set_back()
    }

    /// How often it was set forward, as the timestamps of both ends tell.
    pub fn set_forward(&self) -> Set {
        self.clock.set_forward()
    }

    /// The longest pause so far of which nothing tells whether it was set forward.
    pub fn untold(&self) -> Untold {
        self.clock.untold()
    }

    /// What is added to the times of the file's packets because the clock was set.
    pub fn shift_ns(&self) -> i64 {
        self.clock.shift_ns()
    }

    /// The file goes on with a capture whose times are shifted. To be said before it is read.
    pub fn go_on_from(&mut self, shift_ns: i64) {
        self.clock.go_on_from(shift_ns);
    }

    /// Packets so far that have no time of their own, as those of pcapng simple packet blocks, or one
    /// before 1970 or after 2116.
    pub fn untimed(&self) -> u64 {
        self.parser.untimed()
    }
}
