from calipers.attention.expected_exposure import Exposure as Exposure
from calipers.attention.expected_exposure import exposure as exposure
