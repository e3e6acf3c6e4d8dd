from calipers.collection.reader import processors as processors
from calipers.collection.runs import ArrayRun as ArrayRun
from calipers.collection.runs import RememberedRun as RememberedRun
from calipers.collection.subtopics import SubtopicPool as SubtopicPool
