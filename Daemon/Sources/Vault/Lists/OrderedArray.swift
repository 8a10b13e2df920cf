extension Array {
    /// The first index at which `belongsBehind` holds. It must then hold for all later elements too.
    func firstIndexInOrder(where belongsBehind: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if belongsBehind(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
