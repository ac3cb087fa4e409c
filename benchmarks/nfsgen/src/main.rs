//! Writes a capture of NFSv3, NFSv4.1 and NFSv4.2 over TCP, and prints as JSON what is in it.
//!
//! Takes options (see README.md); gives a capture file and its truth. Promises that the same
//! options give the same bytes, and shares no code with the decoder that is to be measured.

mod capture_file;
mod connection;
mod nfs3;
mod nfs4;
mod options;
mod random;
mod rpc;
mod truth;
mod xdr;

use capture_file::CaptureFile;
use connection::Connection;
use options::Options;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::process::ExitCode;
use truth::Truth;

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(problem) => {
            eprintln!("nfsgen: {problem}");
            return ExitCode::from(2);
        }
    };
    match write_capture(&options) {
        Ok(truth) if options.to_stdout() => eprintln!("{}", truth.to_json()),
        Ok(truth) => println!("{}", truth.to_json()),
        Err(problem) => {
            eprintln!("nfsgen: {}: {problem}", options.output);
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Lets the connection whose clock is furthest behind go on until there are enough packets.
fn write_capture(options: &Options) -> std::io::Result<Truth> {
    let mut file = CaptureFile::create(options)?;
    let mut truth = Truth::new(options.reorder == 0.0 && options.drop == 0.0);
    let mut connections: Vec<Connection<'_>> = (0..options.v3 + options.v4)
        .map(|id| Connection::new(id, if id < options.v3 { 3 } else { 4 }, options))
        .collect();
    for connection in &mut connections {
        connection.open(&mut truth);
    }
    // By the time of the first packet that waits, and by that at which the client goes on.
    let mut waiting = Queue::new();
    let mut behind = Queue::new();
    for (id, connection) in connections.iter().enumerate() {
        waiting.extend(connection.waiting.front().map(|packet| place(packet.at, id)));
        behind.push(place(connection.now, id));
    }
    while truth.packets < options.packets {
        let Some(Reverse((_, id))) = behind.pop() else { break };
        let connection = &mut connections[id];
        let idle = connection.waiting.is_empty();
        connection.step(&mut truth);
        behind.push(place(connection.now, id));
        if let Some(packet) = connection.waiting.front().filter(|_| idle) {
            waiting.push(place(packet.at, id));
        }
        let safe = behind.peek().map_or(u64::MAX, |Reverse((at, _))| *at);
        merge(&mut connections, &mut waiting, safe, &mut file, options, &mut truth)?;
    }
    merge(&mut connections, &mut waiting, u64::MAX, &mut file, options, &mut truth)?;
    file.finish()?;
    Ok(truth)
}

/// Connections, the earliest first, and the first of those that are equally early.
type Queue = BinaryHeap<Reverse<(u64, usize)>>;

/// Times are not negative, and such numbers are in the order of their bits.
fn place(at: f64, id: usize) -> Reverse<(u64, usize)> {
    Reverse((at.to_bits(), id))
}

/// Writes the connections' waiting packets in order of time, as far as no connection can still
/// send anything earlier.
fn merge(
    connections: &mut [Connection<'_>],
    waiting: &mut Queue,
    safe: u64,
    file: &mut CaptureFile,
    options: &Options,
    truth: &mut Truth,
) -> std::io::Result<()> {
    while let Some(&Reverse((at, id))) = waiting.peek().filter(|Reverse((at, _))| *at < safe) {
        debug_assert!(f64::from_bits(at) >= 0.0);
        waiting.pop();
        let connection = &mut connections[id];
        let Some(packet) = connection.waiting.pop_front() else { continue };
        waiting.extend(connection.waiting.front().map(|packet| place(packet.at, id)));
        if options.drop > 0.0 && connection.random.share() < options.drop {
            truth.dropped += 1;
            continue;
        }
        file.write(packet.at, &packet.frame)?;
        truth.packets += 1;
        truth.frame_bytes += packet.frame.len() as u64;
    }
    Ok(())
}
