import DetachedThreads
import OstiaryMessages
import Synchronization

/// The observers of an environment, and the thread that waits for changes while there are any.
final class EnvironmentObservers: Sendable {
    private struct WeakObserver: @unchecked Sendable {
        // SAFETY: (@unchecked) the reference is written once. The observer is called by one thread at a time, which is not the
        // program's own, as with Apple's class; what it does there is its own affair.
        weak var observer: (any LAEnvironment.Observer)?
    }

    private struct Contents {
        var observers: [WeakObserver] = []
        var watch: (any EnvironmentWatching)?

        mutating func remove(_ observer: (any LAEnvironment.Observer)? = nil) {
            observers.removeAll { $0.observer == nil || $0.observer === observer }
        }

        /// Gives the watch up when nobody is left to be told.
        mutating func takeIdleWatch() -> (any EnvironmentWatching)? { observers.isEmpty ? watch.take() : nil }
    }

    private let service: any AuthorizationService
    private let contents = Mutex(Contents())

    init(service: any AuthorizationService) { self.service = service }

    deinit { contents.withLock { $0.watch }?.end() }

    func add(_ observer: any LAEnvironment.Observer, of environment: LAEnvironment) {
        // What is told later is told against this, so it is asked before the observer may rely on being told.
        let known = contents.withLock { $0.watch == nil } ? try? service.environment() : nil
        let added = WeakObserver(observer: observer)
        let watch: (any EnvironmentWatching)? = contents.withLock { contents in
            contents.remove(added.observer)
            contents.observers.append(added)
            guard contents.watch == nil else { return nil }
            let watch = service.watchEnvironment()
            contents.watch = watch
            return watch
        }
        if let watch { start(watch, after: known, of: environment) }
    }

    func remove(_ observer: any LAEnvironment.Observer) {
        let removed = WeakObserver(observer: observer)
        let idle = contents.withLock { contents in
            contents.remove(removed.observer)
            return contents.takeIdleWatch()
        }
        idle?.end()
    }

    private func start(_ watch: any EnvironmentWatching, after known: WireEnvironment?, of environment: LAEnvironment) {
        let isStarted = DetachedThread.start {
            var known = known
            while let state = watch.next(after: known) {
                // A daemon that could not be asked before may say the same as ever.
                if state != known { self.tell(environment, LAEnvironment.State(known)) }
                known = state
            }
        }
        // Without a thread nobody is told. The next observer tries again.
        if !isStarted { contents.withLock { $0.watch.take() }?.end() }
    }

    private func tell(_ environment: LAEnvironment, _ old: LAEnvironment.State) {
        let (observers, idle) = contents.withLock { contents in
            contents.remove()
            return (contents.observers, contents.takeIdleWatch())
        }
        idle?.end()
        for observer in observers.compactMap(\.observer) where isObserving(observer) {
            observer.environment(environment, stateDidChangeFromOldState: old)
        }
    }

    /// False for one that another one has removed meanwhile.
    private func isObserving(_ observer: any LAEnvironment.Observer) -> Bool {
        let observer = WeakObserver(observer: observer)
        return contents.withLock { $0.observers.contains { $0.observer === observer.observer } }
    }
}
