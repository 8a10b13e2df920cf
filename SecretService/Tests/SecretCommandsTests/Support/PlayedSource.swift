import SecretItems

@testable import SecretCommands

/// Another keyring, played.
final class PlayedSource: SourceKeyring {
    struct Held {
        var item: SourceItem
        var secret: String
        var contentType = "text/plain"
    }

    struct Box {
        var label: String
        var isLocked = false
        var isDefault = false
        /// Whether its person unlocks it.
        var opens = true
        var items: [Held] = []
    }

    /// By their paths, in this order.
    var boxes: [(path: String, box: Box)] = []
    /// The number of secrets that are read until the keyring is gone; nil for ever.
    var readsLeft: Int?
    private(set) var readPaths: [String] = []
    private(set) var unlocked: [[String]] = []

    static let root = "/org/freedesktop/secrets/collection/"

    func addBox(_ name: String, _ box: Box) { boxes.append((Self.root + name, box)) }

    /// Puts an item into the last collection, with a path of its own.
    @discardableResult
    func put(
        _ label: String, _ attributes: [String: String], _ secret: String, created: UInt64 = 7, isLocked: Bool = false
    ) -> String {
        let index = boxes.count - 1
        let path = "\(boxes[index].path)/\(boxes[index].box.items.count + 1)"
        let item = SourceItem(
            path: path, label: label, attributes: attributes, created: created, modified: created, isLocked: isLocked)
        boxes[index].box.items.append(Held(item: item, secret: secret))
        return path
    }

    func change(_ path: String, _ change: (inout Held) -> Void) {
        for box in boxes.indices {
            for item in boxes[box].box.items.indices where boxes[box].box.items[item].item.path == path {
                change(&boxes[box].box.items[item])
            }
        }
    }

    var all: [Held] { boxes.flatMap { $0.box.items } }

    private func held(_ path: String) throws(SourceFailure) -> Held {
        guard let held = all.first(where: { $0.item.path == path }) else { throw .refused("There is no such object.") }
        return held
    }

    // MARK: the keyring

    func collections() throws(SourceFailure) -> [SourceCollection] {
        boxes.map { path, box in
            SourceCollection(path: path, label: box.label, isLocked: box.isLocked, isDefault: box.isDefault)
        }
    }

    func unlock(_ paths: [String]) throws(SourceFailure) -> Bool {
        unlocked.append(paths)
        for index in boxes.indices {
            if paths.contains(boxes[index].path) {
                guard boxes[index].box.opens else { return false }
                boxes[index].box.isLocked = false
            }
            for item in boxes[index].box.items.indices
            where paths.contains(boxes[index].box.items[item].item.path) && boxes[index].box.opens {
                boxes[index].box.items[item].item.isLocked = false
            }
        }
        return true
    }

    func items(in collection: String) throws(SourceFailure) -> [String] {
        boxes.first { $0.path == collection }?.box.items.map(\.item.path) ?? []
    }

    func item(_ path: String) throws(SourceFailure) -> SourceItem { try held(path).item }

    func secret(of path: String) throws(SourceFailure) -> OpenedSecret {
        if let readsLeft {
            guard readsLeft > 0 else { throw .lost("It has ended.") }
            self.readsLeft = readsLeft - 1
        }
        let held = try held(path)
        readPaths.append(path)
        guard !held.item.isLocked else { throw .refused("It is locked.") }
        return OpenedSecret(HeldSecret(text: held.secret), contentType: held.contentType)
    }
}
