"""Errors and warnings: few kinds, by what a caller would catch, each carrying its sentence as data.

A sentence names the place (column, class, rows), what was found, what is allowed and a remedy, for
Python and for the command line. One that is used once stands where it is raised; one that is used
in several folders is a function of the module of its subject here. Errors are also ValueError, as
scikit-learn's callers expect, or, where a package is missing, ImportError.
"""

from bayesgen.errors.base import BayesgenError as BayesgenError
from bayesgen.errors.base import BayesgenWarning as BayesgenWarning
from bayesgen.errors.base import deduplicate_warnings as deduplicate_warnings
from bayesgen.errors.base import warn as warn
from bayesgen.errors.base import words_of as words_of
from bayesgen.errors.kinds import CountsAsMissing as CountsAsMissing
from bayesgen.errors.kinds import DegenerateEstimate as DegenerateEstimate
from bayesgen.errors.kinds import InformativePattern as InformativePattern
from bayesgen.errors.kinds import InSampleScore as InSampleScore
from bayesgen.errors.kinds import InvalidArgument as InvalidArgument
from bayesgen.errors.kinds import InvalidData as InvalidData
from bayesgen.errors.kinds import InvalidFile as InvalidFile
from bayesgen.errors.kinds import InvalidProgram as InvalidProgram
from bayesgen.errors.kinds import LabelShiftRejected as LabelShiftRejected
from bayesgen.errors.kinds import LowSampleSize as LowSampleSize
from bayesgen.errors.kinds import MissingPackage as MissingPackage
from bayesgen.errors.kinds import NarrowIntervals as NarrowIntervals
from bayesgen.errors.kinds import NoAttribute as NoAttribute
from bayesgen.errors.kinds import NotConverged as NotConverged
from bayesgen.errors.kinds import RecognizedFormat as RecognizedFormat
from bayesgen.errors.kinds import SuspiciousColumn as SuspiciousColumn
from bayesgen.errors.kinds import UnlabelledHurts as UnlabelledHurts
from bayesgen.errors.kinds import UnsupportedOperation as UnsupportedOperation
from bayesgen.errors.kinds import WorseThanFrequencies as WorseThanFrequencies
from bayesgen.errors.wording import Cure as Cure
from bayesgen.errors.wording import Words as Words
