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
    while truth.packets < options.packets {
        let behind = connections.iter_mut().min_by(|one, other| one.now.total_cmp(&other.now));
        if let Some(connection) = behind {
            connection.step(&mut truth);
        }
        let safe = connections.iter().map(|connection| connection.now).fold(f64::MAX, f64::min);
        merge(&mut connections, safe, &mut file, options, &mut truth)?;
    }
    merge(&mut connections, f64::MAX, &mut file, options, &mut truth)?;
    file.finish()?;
    Ok(truth)
}

/// Writes the connections' waiting packets in order of time, as far as no connection can still
/// send anything earlier.
fn merge(
    connections: &mut [Connection<'_>],
    safe: f64,
    file: &mut CaptureFile,
    options: &Options,
    truth: &mut Truth,
) -> std::io::Result<()> {
    loop {
        let earliest = connections
            .iter_mut()
            .filter(|connection| connection.waiting.front().is_some_and(|packet| packet.at < safe))
            .min_by(|one, other| {
                let (one, other) = (one.waiting.front(), other.waiting.front());
                let at = |packet: Option<&connection::Packet>| packet.map_or(f64::MAX, |p| p.at);
                at(one).total_cmp(&at(other))
            });
        let Some(connection) = earliest else {
            return Ok(());
        };
        let Some(packet) = connection.waiting.pop_front() else {
            return Ok(());
        };
        if options.drop > 0.0 && connection.random.share() < options.drop {
            truth.dropped += 1;
            continue;
        }
        file.write(packet.at, &packet.frame)?;
        truth.packets += 1;
        truth.frame_bytes += packet.frame.len() as u64;
    }
}
