//! The command line.

/// What is to be written; README.md says what each option means.
pub struct Options {
    pub output: String,
    pub packets: u64,
    pub seed: u64,
    pub v3: usize,
    pub v4: usize,
    pub data: f64,
    pub errors: f64,
    pub files: u64,
    pub depth: u64,
    pub mss: usize,
    pub snaplen: usize,
    pub reorder: f64,
    pub retransmit: f64,
    pub drop: f64,
    pub pcapng: bool,
    pub nanoseconds: bool,
    pub vlan: bool,
    pub ipv6: bool,
    pub pad: bool,
    pub port_base: u16,
}

/// Each has a port of its own.
const MAX_CONNECTIONS: usize = 50_000;

impl Options {
    /// Reads the arguments; the error is one sentence for the user.
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
        let mut options = Options::default();
        while let Some(option) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{option} needs a value"));
            match option.as_str() {
                "-o" => options.output = value()?,
                "-n" => options.packets = number(&option, value()?)?,
                "--seed" => options.seed = number(&option, value()?)?,
                "--v3" => options.v3 = number(&option, value()?)?,
                "--v4" => options.v4 = number(&option, value()?)?,
                "--data" => options.data = number(&option, value()?)?,
                "--err" => options.errors = number(&option, value()?)?,
                "--files" => options.files = number(&option, value()?)?,
                "--depth" => options.depth = number(&option, value()?)?,
                "--mss" => options.mss = number(&option, value()?)?,
                "--snaplen" => options.snaplen = number(&option, value()?)?,
                "--reorder" => options.reorder = number(&option, value()?)?,
                "--retrans" => options.retransmit = number(&option, value()?)?,
                "--drop" => options.drop = number(&option, value()?)?,
                "--port-base" => options.port_base = number(&option, value()?)?,
                "--pcapng" => options.pcapng = true,
                "--ns" => options.nanoseconds = true,
                "--vlan" => options.vlan = true,
                "--ipv6" => options.ipv6 = true,
                "--no-pad" => options.pad = false,
                _ => return Err(format!("{option} is no option; README.md lists them")),
            }
        }
        options.checked()
    }

    pub fn to_stdout(&self) -> bool {
        self.output == "-"
    }

    fn checked(self) -> Result<Options, String> {
        if !(1..=MAX_CONNECTIONS).contains(&(self.v3 + self.v4)) {
            return Err(format!("--v3 and --v4 give 1 to {MAX_CONNECTIONS} connections together"));
        }
        if usize::from(self.port_base) + self.v3 + self.v4 > usize::from(u16::MAX) {
            return Err("--port-base leaves no port for every connection".into());
        }
        if self.files == 0 || self.depth == 0 || self.mss == 0 || self.mss > 65_000 {
            return Err("--files, --depth and --mss start at 1; --mss ends at 65000".into());
        }
        let shares = [self.data, self.errors, self.reorder, self.retransmit, self.drop];
        if shares.iter().any(|share| !(0.0..1.0).contains(share)) {
            return Err("--data, --err, --reorder, --retrans and --drop are shares below 1".into());
        }
        Ok(self)
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            output: "out.pcap".into(),
            packets: 10_000,
            seed: 1,
            v3: 6,
            v4: 6,
            data: 0.10,
            errors: 0.02,
            files: 20_000,
            depth: 4,
            mss: 1448,
            snaplen: 262_144,
            reorder: 0.0,
            retransmit: 0.0,
            drop: 0.0,
            pcapng: false,
            nanoseconds: false,
            vlan: false,
            ipv6: false,
            pad: true,
            port_base: 940,
        }
    }
}

fn number<T: std::str::FromStr>(option: &str, text: String) -> Result<T, String> {
    text.parse().map_err(|_| format!("{option} {text} is not a number in range"))
}
