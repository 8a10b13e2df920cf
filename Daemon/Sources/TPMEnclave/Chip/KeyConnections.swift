import CTSS2

/// Further connections to a chip with a resource manager, with one key each.
///
/// Around every command the kernel's resource manager loads and saves all that the connection has in the chip. Two keys in one
/// connection would pay for each other, and exchanging them costs two commands each time. So keys that are used in turn get
/// connections of their own, and a signature stays one command.
struct KeyConnections {
    private struct Place {
        /// Nil when nobody uses the key any more.
        var object: ObjectIdentifier?
        let connection: ChipConnection
    }

    private let location: TPMLocation
    private var limit: Int
    /// The place that was not used for longest is the first one.
    private var places: [Place] = []

    init(_ location: TPMLocation) {
        self.location = location
        limit = location.keyConnectionLimit
    }

    /// The connection that has this key.
    mutating func connection(with object: ObjectIdentifier) -> ChipConnection? {
        guard let index = places.firstIndex(where: { $0.object == object }) else { return nil }
        let place = places.remove(at: index)
        places.append(place)
        return place.connection
    }

    /// A connection that loads this key from `context`. Nil when there can be none, or when the chip does not take the key there.
    mutating func connection(
        loading object: ObjectIdentifier, from context: Answer<TPMS_CONTEXT>, pinned: StorageKeyName
    ) -> ChipConnection? {
        guard var place = free(pinned) else { return nil }
        do {
            try place.connection.take(object, from: context)
        } catch {
            drop(place.connection)
            return nil
        }
        place.object = object
        places.append(place)
        return place.connection
    }

    /// A place without a key: one that nobody uses, a new one, or that of the key that was not used for longest.
    private mutating func free(_ pinned: StorageKeyName) -> Place? {
        if let index = places.firstIndex(where: { $0.object == nil }) { return places.remove(at: index) }
        if places.count < limit {
            do { return Place(connection: try ChipConnection(location, pinned: pinned)) } catch { limit = places.count }
        }
        guard !places.isEmpty else { return nil }
        var place = places.removeFirst()
        if let object = place.object { place.connection.forget(object) }
        place.object = nil
        return place
    }

    /// Removes the key from the chip: nobody uses it any more.
    mutating func forget(_ object: ObjectIdentifier) {
        guard let index = places.firstIndex(where: { $0.object == object }) else { return }
        places[index].object = nil
        places[index].connection.forget(object)
        if places[index].connection.isSpoilt { drop(places[index].connection) }
    }

    /// Ends a connection that failed. None takes its place until ``close()``: a chip without room for it would be asked with each
    /// signature.
    mutating func drop(_ connection: ChipConnection) {
        connection.close()
        places.removeAll { $0.connection === connection }
        limit = places.count
    }

    mutating func close() {
        places.forEach { $0.connection.close() }
        self = KeyConnections(location)
    }
}
