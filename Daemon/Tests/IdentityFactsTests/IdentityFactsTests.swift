// The contract of facts about callers, for those that a helper reads.
