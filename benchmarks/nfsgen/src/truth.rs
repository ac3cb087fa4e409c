//! What the generator knows to be in the capture.

use std::collections::BTreeMap;
use std::fmt::Write;

/// Calls of one version and main operation.
#[derive(Default)]
struct Calls {
    count: u64,
    errors: u64,
    service_ns: u64,
}

#[derive(Default)]
pub struct Truth {
    pub packets: u64,
    pub frame_bytes: u64,
    pub tcp_payload: u64,
    pub full_segments: u64,
    pub pure_acks: u64,
    pub dropped: u64,
    pub retransmitted: u64,
    pub reordered: u64,
    exact_times: bool,
    calls: BTreeMap<(&'static str, &'static str), Calls>,
    operations: BTreeMap<(&'static str, &'static str), u64>,
}

impl Truth {
    /// With reordered or missing segments the service times are those of the traffic, not those
    /// that the capture shows: `exact_times` is false.
    pub fn new(exact_times: bool) -> Truth {
        Truth { exact_times, ..Truth::default() }
    }

    /// Counts a call by its main operation; the service time is reply stamp minus call stamp.
    pub fn call(&mut self, version: &'static str, op: &'static str, failed: bool, service_ns: u64) {
        let calls = self.calls.entry((version, op)).or_default();
        calls.count += 1;
        calls.errors += u64::from(failed);
        calls.service_ns += service_ns;
    }

    /// Counts one operation, also inside a compound.
    pub fn operation(&mut self, version: &'static str, op: &'static str) {
        *self.operations.entry((version, op)).or_default() += 1;
    }

    pub fn to_json(&self) -> String {
        let calls = self.calls.iter().map(|((version, op), calls)| {
            let mean = calls.service_ns as f64 / calls.count as f64 / 1e9;
            format!(
                "{{\"version\": \"{version}\", \"op\": \"{op}\", \"calls\": {}, \"errors\": {}, \
                 \"mean_s\": {mean:.10}}}",
                calls.count, calls.errors
            )
        });
        let operations = self.operations.iter().map(|((version, op), count)| {
            format!("{{\"version\": \"{version}\", \"op\": \"{op}\", \"count\": {count}}}")
        });
        let mut json = String::from("{\n");
        for (key, value) in [
            ("packets", self.packets),
            ("frame_bytes", self.frame_bytes),
            ("tcp_payload", self.tcp_payload),
            ("full_segments", self.full_segments),
            ("pure_acks", self.pure_acks),
            ("dropped", self.dropped),
            ("retransmitted", self.retransmitted),
            ("reordered", self.reordered),
            ("rpcs", self.calls.values().map(|calls| calls.count).sum()),
        ] {
            let _ = writeln!(json, " \"{key}\": {value},"); // writing to a String cannot fail
        }
        let _ = writeln!(json, " \"exact_times\": {},", self.exact_times);
        let _ = writeln!(json, " \"calls\": [\n{}\n ],", lines(calls));
        let _ = write!(json, " \"operations\": [\n{}\n ]\n}}", lines(operations));
        json
    }
}

fn lines(items: impl Iterator<Item = String>) -> String {
    items.map(|item| format!("  {item}")).collect::<Vec<_>>().join(",\n")
}
