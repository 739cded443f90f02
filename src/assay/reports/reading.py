"""In which order do people look for numbers?  That of every table; what is not named here comes last in its dimension."""

from __future__ import annotations

from typing import Final

ORDER: Final = (
    "quality", "quality_difference", "loss_deviation", "gradient_error", "gradient_scale", "replicas_agree", "samples_lost", "samples_duplicated",
    "sample_weight_error",
    "speedup", "efficiency", "step_time", "step_time_p50", "step_time_p95", "step_time_p99", "step_autocorrelation",
    "throughput", "wall_time", "speedup_wall", "serial_fraction", "amdahl_ceiling",
    "usl_contention", "usl_coherency", "usl_peak", "scaled_speedup", "held_out_error", "karp_flatt",
    "data_time", "forward_time", "backward_time", "optimizer_time", "unknown_time", "memory_peak", "host_memory_peak",
    "cost", "cost_per_item", "items_per_dollar", "cost_per_step", "cost_per_effective_work", "cost_total", "energy",
    "energy_per_item", "recovery_time", "time_to_detect", "time_to_restart", "time_to_reload", "time_to_recompute",
    "steps_lost", "training_goodput", "training_goodput_fault",
    # of a load
    "cross_talk", "answers_identical", "canaries_answered", "goodput", "slo_attainment", "capacity", "output_throughput",
    "request_throughput", "input_throughput", "ttft_p50", "ttft_p95", "ttft_p99", "ttft_uncertainty_p99", "ttft_visible_p50", "tpot_p50", "tpot_p95",
    "tpot_p99", "tpot_uncertainty_p99", "itl_p50", "itl_p99", "e2e_p50", "e2e_p95", "e2e_p99", "e2e_uncertainty_p99", "ttft_cold", "session_time_p50",
    "tool_share", "step_ttft_p50", "ttft_sent_p99", "send_lag_p99", "offered_rate", "achieved_rate", "in_flight_mean", "little_ratio",
    "connect_time_p50", "tokenize_time_p50", "prefill_time_p50", "tokens_in_mean", "tokens_out_mean", "cached_share", "replica_imbalance",
    "cost_per_request", "cost_per_1k_tokens", "cost_per_good_token", "tokens_per_dollar", "energy_per_token",
    "error_rate", "availability", "requests_lost", "slo_before", "slo_during", "slo_after", "goodput_under_failure",
    "outage_detect_time", "recovery_time_serving",
)  # fmt: skip

# Other load generators, whose definitions of the same quantities are computed under their own names.
TOOLS: Final = ("vllm", "sglang", "genai_bench", "guidellm", "aiperf", "inference_perf", "llmperf")


def tool_of(metric: str) -> str:
    """The load generator that defines a metric so; empty for a definition of ours."""
    return next((tool for tool in TOOLS if metric.endswith(f"_{tool}")), "mlperf" if metric == "mlperf_tail" else "")
