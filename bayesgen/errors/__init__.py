"""Exceptions and warnings: one class per kind, with constructors for its messages.

A message names the place (column, class, rows), what was found, what is allowed and a remedy. Each
class has one constructor per message: `raise NotNumeric.column("color", ("red",))`.
Errors are also ValueError or TypeError, as scikit-learn's callers expect.
"""

from bayesgen.errors.arguments import InvalidArgument as InvalidArgument
from bayesgen.errors.arguments import InvalidDistribution as InvalidDistribution
from bayesgen.errors.arguments import InvalidLoss as InvalidLoss
from bayesgen.errors.arguments import InvalidPrior as InvalidPrior
from bayesgen.errors.arguments import MissingPackage as MissingPackage
from bayesgen.errors.arguments import UnknownArgument as UnknownArgument
from bayesgen.errors.base import BayesgenError as BayesgenError
from bayesgen.errors.base import BayesgenWarning as BayesgenWarning
from bayesgen.errors.base import deduplicate_warnings as deduplicate_warnings
from bayesgen.errors.base import warn as warn
from bayesgen.errors.columns import AbsentColumns as AbsentColumns
from bayesgen.errors.columns import IdentifierColumn as IdentifierColumn
from bayesgen.errors.columns import InformativePattern as InformativePattern
from bayesgen.errors.columns import MissingCells as MissingCells
from bayesgen.errors.columns import NotBinary as NotBinary
from bayesgen.errors.columns import NotCounts as NotCounts
from bayesgen.errors.columns import NotLevels as NotLevels
from bayesgen.errors.columns import NotNumeric as NotNumeric
from bayesgen.errors.columns import OutOfSupport as OutOfSupport
from bayesgen.errors.columns import TextNumbers as TextNumbers
from bayesgen.errors.columns import TooManyCells as TooManyCells
from bayesgen.errors.columns import UninformativeColumn as UninformativeColumn
from bayesgen.errors.columns import UnknownColumns as UnknownColumns
from bayesgen.errors.columns import UnseenLevel as UnseenLevel
from bayesgen.errors.columns import UnseenLevelError as UnseenLevelError
from bayesgen.errors.columns import UnsupportedColumn as UnsupportedColumn
from bayesgen.errors.data import EmptyDocuments as EmptyDocuments
from bayesgen.errors.data import InvalidTable as InvalidTable
from bayesgen.errors.data import InvalidTarget as InvalidTarget
from bayesgen.errors.data import InvalidTexts as InvalidTexts
from bayesgen.errors.data import InvalidValues as InvalidValues
from bayesgen.errors.data import InvalidWeights as InvalidWeights
from bayesgen.errors.data import MinusOneLabels as MinusOneLabels
from bayesgen.errors.data import MissingLabels as MissingLabels
from bayesgen.errors.data import NoRows as NoRows
from bayesgen.errors.data import TooFewClasses as TooFewClasses
from bayesgen.errors.data import UnknownDataset as UnknownDataset
from bayesgen.errors.data import UnlabelledHurts as UnlabelledHurts
from bayesgen.errors.data import UnlabelledMark as UnlabelledMark
from bayesgen.errors.data import UnsupportedTable as UnsupportedTable
from bayesgen.errors.files import CheckpointNotWritten as CheckpointNotWritten
from bayesgen.errors.files import InvalidCheckpoint as InvalidCheckpoint
from bayesgen.errors.files import InvalidModelFile as InvalidModelFile
from bayesgen.errors.files import UnsavableModel as UnsavableModel
from bayesgen.errors.files import UnwritableFile as UnwritableFile
from bayesgen.errors.inference import DegenerateVariance as DegenerateVariance
from bayesgen.errors.inference import ImpossibleRows as ImpossibleRows
from bayesgen.errors.inference import LabelShiftRejected as LabelShiftRejected
from bayesgen.errors.inference import LeftOut as LeftOut
from bayesgen.errors.inference import LongFit as LongFit
from bayesgen.errors.inference import LowSampleSize as LowSampleSize
from bayesgen.errors.inference import NoAttribute as NoAttribute
from bayesgen.errors.inference import NoClosedForm as NoClosedForm
from bayesgen.errors.inference import NoEvidence as NoEvidence
from bayesgen.errors.inference import NoLabelDistributions as NoLabelDistributions
from bayesgen.errors.inference import NoPosterior as NoPosterior
from bayesgen.errors.inference import NotConverged as NotConverged
from bayesgen.errors.inference import PooledEstimate as PooledEstimate
from bayesgen.errors.inference import SingularCovariance as SingularCovariance
from bayesgen.errors.inference import UnreliableLeaveOneOut as UnreliableLeaveOneOut
from bayesgen.errors.inference import UnsupportedInference as UnsupportedInference
from bayesgen.errors.inference import WorseThanFrequencies as WorseThanFrequencies
from bayesgen.errors.merging import CannotForget as CannotForget
from bayesgen.errors.merging import DifferentModels as DifferentModels
from bayesgen.errors.program import InvalidProgram as InvalidProgram
from bayesgen.errors.program import InvalidProgramRows as InvalidProgramRows
from bayesgen.errors.program import ProgramNotFinite as ProgramNotFinite
from bayesgen.errors.program import ProgramRefuses as ProgramRefuses
from bayesgen.errors.sources import IncompletePart as IncompletePart
from bayesgen.errors.sources import InvalidSource as InvalidSource
