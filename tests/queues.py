"""What is known of the queue with one server, Poisson arrivals and exponential service?  (Kleinrock, Queueing Systems I, 1975)"""

from __future__ import annotations

import math


def mm1_quantile(p: float, arrival_rate: float, service_rate: float = 1.0) -> float:
    """The p-quantile (0..1) of the time in the system: it is exponential with the rate service - arrivals."""
    return -math.log1p(-p) / (service_rate - arrival_rate)
