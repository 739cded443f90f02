from assay.reports.format import *  # noqa temporary
