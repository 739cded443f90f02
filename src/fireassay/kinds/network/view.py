"""What does the view of a network probe show in addition to that of every record?"""

from __future__ import annotations

from fireassay.frames.links.network_probe import network
from fireassay.reports.view import KindView

VIEW = KindView(fields=lambda view, measured, judgement: {"network": network(measured)})
