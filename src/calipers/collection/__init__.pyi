from calipers.collection.features import FeatureFile as FeatureFile
from calipers.collection.features import read_features as read_features
from calipers.collection.reader import processors as processors
from calipers.collection.runs import ArrayRun as ArrayRun
from calipers.collection.runs import RememberedRun as RememberedRun
from calipers.collection.subtopics import SubtopicPool as SubtopicPool
