import Synchronization

/// A value that observers on several threads add to.
final class Locked<Value: Sendable>: Sendable {
    private let contents: Mutex<Value>

    init(_ value: Value) { contents = Mutex(value) }

    var value: Value { contents.withLock { $0 } }

    func update(_ change: (inout Value) -> Void) { contents.withLock { change(&$0) } }
}
