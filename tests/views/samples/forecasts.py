"""What the run would take."""

from __future__ import annotations

from pcapnfs.analyses.forecasts.client_forecasts import ClientForecast
from pcapnfs.analyses.forecasts.inputs import Input
from pcapnfs.analyses.forecasts.left_out import LeftOut
from pcapnfs.analyses.forecasts.model import Model
from pcapnfs.analyses.forecasts.what_if import Scenario
from pcapnfs.analyses.times.call_times import KindOfStable
from pcapnfs.record import replace
from tests.views.samples.rendering import HOSTILE
from tests.views.samples.times import bottleneck


def model() -> Model:
    return Model(
        files=1000,
        rpcs_per_file=10.0,
        rtt_s=0.5e-3,
        rtt_source="calls",
        network_rtt_s=0.4e-3,
        syncops_per_file=4.0,
        persist_s=2.5e-3,
        predicted_s=15.0,
        other_s=0.5,
        client_s=3.0,
        concurrency=1.25,
        forecast_s=15.4,
        forecast_low_s=15.1,
        forecast_high_s=15.7,
        measured_s=15.4,
        holdout_error=0.021,
        single_s=None,
        counted="files",
        calls=10000,
        stable_calls=4000,
        small_calls=5000,
        vantage="server",
        transfer_s=0.25,
        waiting_s=0.0,
        lock_calls=0,
        locks_s=0.0,
        pauses_s=2.0,
        unknown_calls=0,
        unseen_replies=0,
        unsure_s=0.0,
        client_number=1,
        clients=(),
        left_out=(LeftOut("client", 1.0),),
        usual_s=480e-6,
        slow_s=0.1,
        clock_tick_s=None,
        absorbs_rtt=True,
        held_down_s=0.0,
        full_windows_s=0.0,
        persist_by_op=(
            KindOfStable("WRITE", 1000, 4e-3),
            KindOfStable("CREATE", 1000, 2e-3),
            KindOfStable("MKDIR", 10, None),
        ),
        resent=False,
        inputs=(
            Input("files", 1000.0, 1000.0, "counted"),
            Input("rpcs_per_file", 10.0, 10.0, "counted"),
            Input("rtt_s", 0.5e-3, 0.5e-3, "calls"),
            Input("syncops_per_file", 4.0, 4.0, "counted"),
            Input("persist_s", 2.5e-3, 2.5e-3, "calls"),
            Input("concurrency", 1.25, 1.25, "calls"),
            Input("client_s", 0.1e-3, 0.1e-3, "calls"),
        ),
        missing=(),
        what_if=(
            Scenario("measured", None, 15.4, 15.1, 18.9, 1.0),
            Scenario("async", 0.0, 7.4, 7.3, 8.5, 2.081),
            Scenario("log_device", 0.0001, 7.72, 7.6, 8.9, 1.995),
            Scenario("rtt", 0.0002, 13.8, 13.5, 16.9, 1.116),
            Scenario("streams", 8.0, 4.94, 2.2, 12.7, 3.117),
            Scenario("readdirplus", 1120.0, 14.8, 14.5, 18.0, 1.04),
            Scenario("wsize", 1048576.0, 14.1, 13.9, 17.0, 1.09),
            Scenario("local", None, 4.2, 4.1, 4.5, 3.667),
        ),
        verdict=bottleneck(),
    )


def client_forecasts(*clients: str) -> tuple[ClientForecast, ...]:
    """Of clients of which only the first has stable calls enough."""
    told = ("measured", "async", "log_device", "rtt", "local")
    return tuple(
        ClientForecast(
            client=client,
            calls=1000,
            stable_calls=0 if place else 400,
            rtt_s=0.5e-3,
            persist_s=None if place else 2.5e-3,
            concurrency=1.0,
            measured_s=15.4,
            what_if=tuple(
                each
                for each in model().what_if
                if each.change in (("measured", "rtt") if place else told)
            ),
        )
        for place, client in enumerate(clients)
    )


def poor_model() -> Model:
    """Nothing but a few stable calls, and a persistence that was given too late."""
    return replace(
        model(),
        rtt_s=None,
        rtt_source="none",
        network_rtt_s=None,
        persist_s=None,
        predicted_s=None,
        other_s=None,
        client_s=None,
        forecast_s=None,
        forecast_low_s=None,
        forecast_high_s=None,
        holdout_error=None,
        single_s=None,
        stable_calls=5,
        small_calls=0,
        vantage="between",
        absorbs_rtt=None,
        held_down_s=0.0,
        full_windows_s=0.0,
        persist_by_op=(KindOfStable(HOSTILE, 5, None),),
        inputs=(
            Input("files", 1.0, 1.0, "counted"),
            Input("rtt_s", None, None, "none"),
            Input("persist_s", None, None, "none"),
        ),
        missing=("rtt", "stable_calls"),
        what_if=(),
        verdict=None,
    )
