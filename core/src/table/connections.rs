//! Rows of the table `connections`.

use crate::roles::Role;
use crate::stream::belated::Belated;
use crate::stream::{Connection, ConnectionId, Opening, Side, Sides, Transport};
use crate::table::Tables;
use crate::table::columns::{Naming, Word, Wording};
use crate::table::schema::append;

impl Tables {
    /// Writes a connection that carried RPC.
    ///
    /// `addresses` are what its ends are called; `role` is that of its server in pNFS; `sealed` is how many
    /// bytes of it were under TLS, if it was.
    pub fn append_connection(
        &mut self,
        id: ConnectionId,
        connection: &Connection,
        client: Side,
        addresses: &Sides<Word>,
        role: Option<Role>,
        sealed: Option<u64>,
    ) {
        let (near, far) = (connection.ends.of(client), connection.ends.of(client.other()));
        let (up, down) = (connection.counts.of(client), connection.counts.of(client.other()));
        let belated = connection.belated(client.other());
        let (from_client, from_server) = (connection.acks.of(client), connection.acks.of(client.other()));
        let (client_slow, server_slow) = (from_client.slower(), from_server.slower());
        let windows = &connection.full_windows;
        let last_ns = connection.last.time_ns;
        let between = |from: Option<i64>, to: Option<i64>| Some(to?.saturating_sub(from?));
        let opener_is_client = connection.syn.is_some_and(|(opener, _)| opener == client);
        let opening = if opener_is_client { connection.opening } else { Opening::default() };
        let own = Sides {
            low: Word::new(connection.ends.low.ip().to_string()),
            high: Word::new(connection.ends.high.ip().to_string()),
        };
        append!(
            &mut *self.connections,
            connection: id,
            transport: Naming::Name(match connection.transport {
                Transport::Tcp => "TCP",
                Transport::Udp => "UDP",
                Transport::Rdma => "RDMA",
            }),
            client: Wording::Word(addresses.of(client)),
            client_address: Wording::Word(own.of(client)),
            client_port: u32::from(near.port()),
            server: Wording::Word(addresses.of(client.other())),
            server_address: Wording::Word(own.of(client.other())),
            server_port: u32::from(far.port()),
            role: role.map(Role::name).map(Naming::Name),
            first_frame: connection.first.frame,
            first_time: connection.first.time_ns,
            last_time: connection.last.time_ns,
            handshake: connection.established.is_some(),
            syn_rtt: between(connection.answered_syn(), connection.syn_ack).filter(|_| opener_is_client),
            ack_rtt: between(connection.syn_ack, connection.established).filter(|_| opener_is_client),
            syns: opening.syns,
            syn_time: opening.first_ns,
            syn_acks: u32::from(opening.syn_acks),
            syn_ack_time: connection.syn_ack.filter(|_| opener_is_client),
            challenge_acks: u32::from(opening.challenges),
            refusals: opening.refusals,
            attempts: opening.attempts,
            attempted_time: opening.attempted_ns,
            client_fin_time: up.fin,
            server_fin_time: down.fin,
            client_rst_time: up.rst,
            server_rst_time: down.rst,
            client_unacked: up.unacknowledged.map(u64::from),
            server_unacked: down.unacknowledged.map(u64::from),
            server_unacked_time: down.unacknowledged_since,
            client_lost: up.lost_on_the_way(),
            server_lost: down.lost_on_the_way(),
            client_acks: from_client.alone().count,
            client_ack_min: from_client.alone().least(),
            client_ack_rtt: from_client.prompt(),
            client_turns: from_client.with_data().count,
            client_turn_min: from_client.with_data().least(),
            client_turn_rtt: from_client.turn(),
            client_slow_from: client_slow.map(|slow| slow.from_ns),
            client_slow_until: client_slow.map(|slow| slow.until_ns),
            client_slow_rtt: client_slow.map(|slow| slow.least),
            client_slow_acks: client_slow.map(|slow| slow.alone),
            client_slow_turns: client_slow.map(|slow| slow.with_data),
            client_slow_full: client_slow.map(|slow| slow.full),
            client_slow_soon: client_slow.map(|slow| slow.soon),
            server_acks: from_server.alone().count,
            server_ack_min: from_server.alone().least(),
            server_ack_rtt: from_server.prompt(),
            server_turns: from_server.with_data().count,
            server_turn_min: from_server.with_data().least(),
            server_turn_rtt: from_server.turn(),
            server_slow_from: server_slow.map(|slow| slow.from_ns),
            server_slow_until: server_slow.map(|slow| slow.until_ns),
            server_slow_rtt: server_slow.map(|slow| slow.least),
            server_slow_acks: server_slow.map(|slow| slow.alone),
            server_slow_turns: server_slow.map(|slow| slow.with_data),
            server_slow_full: server_slow.map(|slow| slow.full),
            server_slow_soon: server_slow.map(|slow| slow.soon),
            segment_size: connection.segment_size.map(u32::from),
            client_segments: up.segments,
            server_segments: down.segments,
            client_bytes: up.bytes,
            server_bytes: down.bytes,
            retransmitted: up.retransmitted + down.retransmitted,
            out_of_order: u64::from(up.out_of_order) + u64::from(down.out_of_order),
            client_resent: up.retransmitted + u64::from(up.refilled),
            server_resent: down.retransmitted + u64::from(down.refilled),
            client_spurious: u64::from(up.spurious),
            server_spurious: u64::from(down.spurious),
            client_early: u64::from(up.early),
            server_early: u64::from(down.early),
            client_ack_waits: u64::from(up.ack_waits),
            server_ack_waits: u64::from(down.ack_waits),
            server_acked_first: belated.map_or(0, |belated| u64::from(belated.segments)),
            server_acked_lead: belated.and_then(Belated::lead_ns),
            missing_bytes: up.uncaptured_bytes() + down.uncaptured_bytes(),
            truncated_bytes: up.truncated_bytes + down.truncated_bytes,
            zero_windows: up.zero_windows.count() + down.zero_windows.count(),
            client_zero_window: up.zero_windows.lasted_until(last_ns),
            server_zero_window: down.zero_windows.lasted_until(last_ns),
            window_scaling: connection.is_scaled(),
            client_window: windows.of(client).largest().map(u64::from),
            server_window: windows.of(client.other()).largest().map(u64::from),
            client_full_window: windows.of(client).usual().map(u64::from),
            server_full_window: windows.of(client.other()).usual().map(u64::from),
            client_window_full: windows.of(client).stood_ns(),
            server_window_full: windows.of(client.other()).stood_ns(),
            client_window_full_bytes: windows.of(client).bytes(),
            server_window_full_bytes: windows.of(client.other()).bytes(),
            tls: sealed.is_some(),
            sealed_bytes: sealed.unwrap_or(0),
        );
    }
}
