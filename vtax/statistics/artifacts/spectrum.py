"""Spectra of a series of columns, and periods that they point to."""

import numpy as np
import scipy
from numpy.typing import NDArray

Columns = NDArray[np.float64]

HARMONICS = (1, 2, 4, 8, 16, 32)
PADDING = 4
SMOOTHING_BINS = 101


def whitened(columns: Columns) -> Columns:
    """Return `columns` of shape (iterations,) with a flat spectrum but for lines in it.

    Each frequency's power is divided by the median of those around it, as in searches for pulsars (Ransom,
    Eikenberry and Middleditch, The Astronomical Journal 124, 2002): trends and noise that remembers go, periods stay.
    """
    spectrum = np.fft.rfft(columns - columns.mean())
    power = np.abs(spectrum[1:]) ** 2
    width = min(SMOOTHING_BINS, max(5, len(power) // 4)) | 1
    around = scipy.ndimage.median_filter(power, width, mode="reflect")
    spectrum[0] = 0
    spectrum[1:] /= np.sqrt(np.maximum(around, np.finfo(float).tiny) / np.log(2))
    return np.fft.irfft(spectrum, len(columns))


def savage(columns: Columns) -> Columns:
    """Savage's scores of `columns` among themselves, less their mean of 1."""
    return np.asarray(-np.log1p(-(scipy.stats.rankdata(columns) - 0.5) / len(columns)) - 1)


def candidates(scores: Columns, longest: float) -> list[float]:
    """Return periods in iterations, of 2 to `longest`, at which the spectrum stands out: one a number of harmonics.

    The sum of the power at so many harmonics, as the Z^2 statistic (Buccheri et al., Astronomy and Astrophysics 128,
    1983), on a grid of a quarter of the spectrum's resolution.
    """
    padded = PADDING * len(scores)
    power = np.abs(np.fft.rfft(scores, padded)) ** 2 / len(scores)
    bins = np.arange(int(np.ceil(padded / longest)), padded // 2 + 1)
    total, added = np.zeros(len(bins)), np.zeros(len(bins))
    found = []
    for harmonic in range(1, HARMONICS[-1] + 1):
        within = harmonic * bins < len(power)
        total[within] += power[harmonic * bins[within]]
        added += within
        if harmonic in HARMONICS:
            found.append(padded / bins[np.argmax((total - added) / np.sqrt(added))])
    return sorted(set(map(float, found)))
