//! Files → packets: opens a capture by its magic number and lends its packets one at a time.
//!
//! Takes a path (`-` is standard input) to a pcap or pcapng file, plain or compressed with gzip,
//! zstd, lz4, xz or bzip2. Gives [`Packet`]s in the order of the file, numbered from 1 as Wireshark numbers frames.
//! Promises: read once from front to end, so a pipe will do; memory is one buffer, which grows to
//! the largest packet and never beyond [`PACKET_LIMIT`] by much; nothing is allocated or copied
//! per packet. A file that breaks off gives every packet before that place; one that contradicts itself
//! also those behind it, from the next packet on that others follow; then one [`ReadError::Damaged`],
//! then the end.
//!
//! Formats: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng.

mod ahead;

mod clock;

mod compression;

mod gzip;

mod lz4;

pub mod merge;

pub mod output;

mod pause;

mod pcap;

mod pcapng;

mod resume;

mod sniff;

pub mod timestamps;

mod window;

mod xz;

use std::borrow::Cow;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::error::{ReadError, Resumed};
use crate::wire_enum::wire_enum;

pub use clock::{Set, Untold};
pub use compression::Compression;

use clock::Clock;
use compression::Source;
use output::Interface;
use pause::Pause;
use pcapng::Fields;
use resume::Guess;
use timestamps::{Heard, Timestamps, Told};
use window::{Fault, Window};

/// A packet longer than this, in bytes, is taken for damage whatever the file's snaplen says.
pub const PACKET_LIMIT: usize = 16 << 20;

/// A packet longer than this, in bytes, must at least respect the file's snaplen. Below it, writers
/// that exceed their own snaplen (segmentation offload) are believed.
pub const CREDIBLE_PACKET: usize = 256 << 10;

wire_enum! {
    /// `LINKTYPE_` number of the frames' outermost header, as registered at tcpdump.org/linktypes.
    pub enum LinkType {
        NULL = 0,
        ETHERNET = 1,
        IEEE802_5 = 6,
        PPP = 9,
        FDDI = 10,
        RAW_BSD = 12,
        RAW_OPENBSD = 14,
        PPP_HDLC = 50,
        PPP_ETHER = 51,
        RAW = 101,
        C_HDLC = 104,
        IEEE802_11 = 105,
        LOOP = 108,
        LINUX_SLL = 113,
        IEEE802_11_RADIOTAP = 127,
        ERF = 197,
        IPV4 = 228,
        IPV6 = 229,
        NFLOG = 239,
        IPOIB = 242,
        INFINIBAND = 247,
        PKTAP = 258,
        LINUX_SLL2 = 276,
    }
}

/// One captured packet, lent by the [`Reader`] until it is asked for the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Frame number in this file, from 1.
    pub number: u64,
    /// Nanoseconds since 1970-01-01 UTC. A packet without a time, as pcapng's simple ones, and one with a time
    /// that cannot be get that of the packet before. Counted on where the clock was set back.
    pub time_ns: i64,
    /// The time that the file states.
    pub stated_ns: i64,
    /// What `bytes` begins with.
    pub link: LinkType,
    /// Bytes of the packet on the wire; never less than were captured.
    pub wire_length: u32,
    /// The captured bytes.
    pub bytes: &'a [u8],
}

/// A packet that is still to come, as [`Reader::glimpses`] sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glimpse<'a> {
    /// The time that the file states.
    pub time_ns: i64,
    /// What `bytes` begins with.
    pub link: LinkType,
    /// Bytes of the packet on the wire; never less than were captured.
    pub wire_length: u32,
    /// The captured bytes.
    pub bytes: &'a [u8],
}

/// The file format of the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// Classic pcap.
    Pcap {
        /// Timestamps count nanoseconds rather than microseconds.
        nanoseconds: bool,
        /// Numbers in the file's headers are big-endian.
        big_endian: bool,
    },
    /// pcapng; time resolution and byte order belong to its interfaces and sections.
    Pcapng,
}

/// What a capture file is; `Display` gives `pcap`, `pcap (ns)`, `pcapng`, `pcap, gzip` …
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// The format of the packets.
    pub container: Container,
    /// How that is compressed.
    pub compression: Compression,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.container {
            Container::Pcap { nanoseconds: false, .. } => "pcap",
            Container::Pcap { nanoseconds: true, .. } => "pcap (ns)",
            Container::Pcapng => "pcapng",
        })?;
        match self.compression {
            Compression::None => Ok(()),
            compression => write!(f, ", {compression}"),
        }
    }
}

/// What a file says of a packet besides the packet itself.
#[derive(Clone, Copy, Debug)]
pub struct Details<'a> {
    /// The interface that it was captured on: its place in the section; 0 for pcap.
    pub interface: usize,
    options: Fields<'a>,
}

impl<'a> Details<'a> {
    /// Code and value of each option of the packet's block, numbers in little-endian byte order; what is
    /// unknown and may hold some is left out where they would have to be turned.
    pub fn options(self) -> impl Iterator<Item = (u16, Cow<'a, [u8]>)> {
        self.options.packet_options()
    }
}

/// Where a format's parser found the next packet. The bytes lie in the window until it is filled again.
struct Record {
    /// The time that the file states.
    stated_ns: i64,
    link: LinkType,
    wire_length: u32,
    /// Position of the captured bytes in the window.
    start: usize,
    captured: usize,
}

enum Parser {
    Pcap(pcap::Pcap),
    Pcapng(pcapng::Pcapng),
}

impl Parser {
    /// Captures begun in the file, of which each may have a clock of its own.
    fn begun(&self) -> u64 {
        match self {
            Self::Pcap(pcap) => pcap.followers(),
            Self::Pcapng(pcapng) => pcapng.sections(),
        }
    }

    /// The packet that `ahead` begins with, and what is behind it: `None` where that is not easily said.
    fn glimpse<'a>(&self, ahead: &'a [u8]) -> Option<(Glimpse<'a>, &'a [u8])> {
        match self {
            Self::Pcap(pcap) => pcap.glimpse(ahead),
            Self::Pcapng(pcapng) => pcapng.glimpse(ahead),
        }
    }

    /// The packets that follow one another from there.
    fn glimpses<'a>(&self, mut ahead: &'a [u8]) -> impl Iterator<Item = Glimpse<'a>> + Clone {
        std::iter::from_fn(move || {
            let (glimpse, rest) = self.glimpse(ahead)?;
            ahead = rest;
            Some(glimpse)
        })
    }

    /// Whether a packet or block begins here, as far as that can be said.
    fn guess(&self, bytes: &[u8]) -> Guess {
        match self {
            Self::Pcap(pcap) => pcap.guess(bytes),
            Self::Pcapng(pcapng) => pcapng.guess(bytes),
        }
    }

    /// All packets of bytes that end with one; `None` where they do not.
    fn walk<'a>(&self, mut bytes: &'a [u8]) -> Option<Vec<Glimpse<'a>>> {
        let mut packets = Vec::new();
        while !bytes.is_empty() {
            bytes = if let Some((glimpse, rest)) = self.glimpse(bytes) {
                packets.push(glimpse);
                rest
            } else if let Guess::Whole(length) = self.guess(bytes) {
                bytes.get(length..)?
            } else {
                return None;
            };
        }
        Some(packets)
    }
}

/// One capture file that is being read.
pub struct Reader {
    path: PathBuf,
    window: Window,
    parser: Parser,
    compression: Compression,
    counter: compression::Counter,
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
    /// file is something else, [`ReadError::Damaged`] where it ends within its own header.
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
        let (mut window, compression) = source.decompressed().map_err(report)?;
        let parser = match sniff::container(&mut window, compression).map_err(report)? {
            sniff::Magic::Pcap(layout) => {
                Parser::Pcap(pcap::Pcap::open(layout, &mut window).map_err(report)?)
            }
            sniff::Magic::Pcapng => Parser::Pcapng(pcapng::Pcapng::open(&mut window).map_err(report)?),
        };
        let (path, begun) = (path.to_owned(), parser.begun());
        Ok(Self {
            path,
            window,
            parser,
            compression,
            counter,
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
    #[allow(clippy::should_implement_trait)] // It lends, which `Iterator` cannot.
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
    #[allow(clippy::inline_always)] // Into the decode's loop.
    pub fn at_hand(&mut self) -> Option<Packet<'_>> {
        let record = self.usual()?;
        Some(self.packet(&record, record.stated_ns))
    }

    /// The next packet, if it is at hand and its time is believed as it stands.
    #[inline(always)]
    #[allow(clippy::inline_always)] // As above.
    fn usual(&mut self) -> Option<Record> {
        if self.ended || self.ahead.is_some() {
            return None;
        }
        let record = self.parse_at_hand()?;
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

    /// Asks the packets that follow whether this one's time can be; gives the one to go by, and where the
    /// packet lies in the window now.
    #[cold]
    #[inline(never)]
    fn doubt(&mut self, stated_ns: i64, mut start: usize) -> (i64, usize) {
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
        if let Parser::Pcapng(pcapng) = &mut self.parser {
            pcapng.moved(start, moved);
        }
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
    fn listen(&mut self, time_ns: i64) {
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

    /// The next packet, if the window holds all of it and it is usual, as nearly all are.
    #[inline(always)]
    #[allow(clippy::inline_always)] // As above.
    fn parse_at_hand(&mut self) -> Option<Record> {
        match &mut self.parser {
            Parser::Pcap(pcap) => pcap.at_hand(&mut self.window),
            Parser::Pcapng(pcapng) => pcapng.at_hand(&mut self.window),
        }
    }

    fn parse(&mut self) -> Result<Option<Record>, Fault> {
        match self.parse_at_hand() {
            Some(record) => Ok(Some(record)),
            None => self.parse_on(),
        }
    }

    /// The same, reading on in the file: only here another capture may begin.
    #[cold]
    #[inline(never)]
    fn parse_on(&mut self) -> Result<Option<Record>, Fault> {
        let found = match &mut self.parser {
            Parser::Pcap(pcap) => pcap.read(&mut self.window),
            Parser::Pcapng(pcapng) => pcapng.read(&mut self.window),
        };
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
        let Self { window, parser, .. } = self;
        let parser = &*parser;
        let guess = |bytes: &[u8]| parser.guess(bytes);
        let usual = resume::longest(window.passed(), guess);
        let mut passed = 1; // What is damaged does not begin where it should.
        window.advance(1);
        loop {
            let rest = !window.ensure(resume::LOOKED_AT)?;
            if let Some(place) = resume::find(window.ahead(), rest, usual, guess) {
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
        match &self.parser {
            Parser::Pcap(_) => Details { interface: 0, options: Fields::default() },
            Parser::Pcapng(pcapng) => pcapng.details(&self.window),
        }
    }

    /// An interface of the section that is read, by its place; pcap has one.
    pub fn interface(&self, place: usize) -> Option<Interface<'_>> {
        match &self.parser {
            Parser::Pcap(pcap) => (place == 0).then(|| pcap.interface()),
            Parser::Pcapng(pcapng) => pcapng.described(place),
        }
    }

    /// The file's format and compression.
    pub fn format(&self) -> Format {
        let container = match &self.parser {
            Parser::Pcap(pcap) => pcap.container(),
            Parser::Pcapng(_) => Container::Pcapng,
        };
        Format { container, compression: self.compression }
    }

    /// The link type that the file's header states; `None` where each interface has its own.
    pub fn link(&self) -> Option<LinkType> {
        match &self.parser {
            Parser::Pcap(pcap) => Some(pcap.link()),
            Parser::Pcapng(_) => None,
        }
    }

    /// The most bytes kept of a packet: the largest of the interfaces met so far; 0 = not stated.
    pub fn snaplen(&self) -> u32 {
        match &self.parser {
            Parser::Pcap(pcap) => pcap.snaplen(),
            Parser::Pcapng(pcapng) => pcapng.snaplen(),
        }
    }

    /// Bytes of the file, as it is stored, that were read so far. For progress.
    pub fn consumed(&self) -> u64 {
        self.counter.bytes()
    }

    /// Packets that the capturing machine lost, where the file's interface statistics say so
    /// (pcapng `isb_ifdrop` and `isb_osdrop`, the last of each interface). Complete after the last packet.
    pub fn dropped(&self) -> Option<u64> {
        match &self.parser {
            Parser::Pcap(_) => None,
            Parser::Pcapng(pcapng) => pcapng.dropped(),
        }
    }

    /// Captures that follow the first one in the same file, as `cat` puts them there. Sections of pcapng
    /// are none: they belong there.
    pub fn followers(&self) -> u64 {
        match &self.parser {
            Parser::Pcap(pcap) => pcap.followers(),
            Parser::Pcapng(_) => 0,
        }
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
        match &self.parser {
            Parser::Pcap(_) => 0,
            Parser::Pcapng(pcapng) => pcapng.untimed(),
        }
    }
}

/// Whether a packet may be as long as its header says.
fn credible(captured: usize, snaplen: u32) -> bool {
    captured <= CREDIBLE_PACKET || (captured <= PACKET_LIMIT && captured <= snaplen as usize)
}

#[cfg(test)]
mod tests;
