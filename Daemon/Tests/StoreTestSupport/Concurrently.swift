import Foundation
import Synchronization

/// Runs `body` on so many threads of their own and returns when all are done, with what each returned or threw.
@discardableResult
public func concurrently<Value: Sendable>(
    _ count: Int, _ body: @escaping @Sendable (Int) throws -> Value
) -> [Result<Value, any Error>] {
    let threads = Threads<Value>()
    for number in 0..<count { threads.start { try body(number) } }
    return threads.wait()
}

/// Threads that are started one after the other, and waited for together.
public final class Threads<Value: Sendable>: Sendable {
    private let results = Mutex<[Result<Value, any Error>?]>([])
    private let group = DispatchGroup()

    public init() {}

    public func start(_ body: @escaping @Sendable () throws -> Value) {
        let index = results.withLock { results in
            results.append(nil)
            return results.count - 1
        }
        group.enter()
        Thread.detachNewThread { [self] in
            let result = Result { try body() }
            results.withLock { $0[index] = result }
            group.leave()
        }
    }

    /// How many are done.
    public var doneCount: Int { results.withLock { $0.count { $0 != nil } } }

    /// What each returned or threw, in the order of their starts.
    public func wait() -> [Result<Value, any Error>] {
        group.wait()
        return results.withLock { $0.compactMap { $0 } }
    }
}
