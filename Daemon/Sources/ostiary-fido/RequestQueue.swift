import Dispatch
import Glibc
import SecretBuffers
import SecurityKeyProtocol
import Synchronization

/// The one request that a second thread works on, so that a cancel can come meanwhile.
final class RequestQueue: Sendable {
    private struct Work: ~Copyable {
        let request: KeyRequest
        let secret: SecretBytes
    }

    private struct State: ~Copyable {
        var waiting: Work?
        var isBusy = false
    }

    private let state = Mutex(State())
    private let arrival = DispatchSemaphore(value: 0)
    private let start = DispatchSemaphore(value: 0)

    var isBusy: Bool { state.withLock { $0.isBusy } }

    /// Hands the request to the thread; false when it has one already.
    func take(_ request: KeyRequest, secret: consuming SecretBytes) -> Bool {
        var secret: SecretBytes? = consume secret
        let isTaken = state.withLock { state in
            guard !state.isBusy, let secret = secret.take() else { return false }
            state.isBusy = true
            state.waiting = Work(request: request, secret: secret)
            return true
        }
        if isTaken { arrival.signal() }
        return isTaken
    }

    /// Starts the thread, and returns when it runs: it makes system calls for its start that are not allowed later. False when
    /// there is none.
    func startThread(with device: KeyDevice) -> Bool {
        let pair = Unmanaged.passRetained(Worker(queue: self, device: device))
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { pair in
                guard let pair else { return nil }
                Unmanaged<Worker>.fromOpaque(pair).takeRetainedValue().run()
            }, pair.toOpaque())
        guard code == 0 else { return false }
        start.wait()
        return true
    }

    private final class Worker {
        let queue: RequestQueue
        let device: KeyDevice

        init(queue: RequestQueue, device: KeyDevice) { (self.queue, self.device) = (queue, device) }

        func run() -> Never {
            queue.start.signal()
            while true {
                queue.arrival.wait()
                guard let work = queue.state.withLock({ $0.waiting.take() }) else { continue }
                let answer = device.answer(work.request, secret: work.secret)
                // The daemon may ask again as soon as it has the answer.
                queue.state.withLock { $0.isBusy = false }
                guard answer.send(on: SecurityKeyDescriptor.channel) else { _exit(0) }
            }
        }
    }
}
