import Combine
import Foundation
import LocalAuthentication
import LocalAuthenticationCombine
import OstiaryTesting
import Synchronization
import Testing

/// No daemon runs here: an authorization fails, which is two changes of state.
@Suite(.timeLimit(.minutes(10))) struct StatePublisherTests {
    init() {
        let folder = NSTemporaryDirectory() + "ostiary-nobody-\(UUID().uuidString)"
        OstiaryTesting.useDaemon(runtimeDirectory: folder + "/run", stateDirectory: folder + "/state")
    }

    private final class Recorder: Sendable {
        private let states = Mutex<[LARight.State]>([])
        var value: [LARight.State] { states.withLock { $0 } }
        @Sendable func add(_ state: LARight.State) { states.withLock { $0.append(state) } }
    }

    private func failToAuthorize(_ right: LARight) async {
        do { try await right.authorize(localizedReason: "test") } catch { return }
        Issue.record("authorized without a daemon")
    }

    @Test func `the current state comes first, then each change in order`() async {
        let right = LARight()
        let recorder = Recorder()
        let subscription = right.publisher(for: \.state).sink(receiveValue: recorder.add)
        await failToAuthorize(right)
        subscription.cancel()
        #expect(recorder.value == [.unknown, .authorizing, .notAuthorized])
    }

    @Test func `without initial only changes come`() async {
        let right = LARight()
        let recorder = Recorder()
        let subscription = right.publisher(for: \.state, options: [.new]).sink(receiveValue: recorder.add)
        await failToAuthorize(right)
        subscription.cancel()
        #expect(recorder.value == [.authorizing, .notAuthorized])
    }

    @Test func `after cancelling nothing comes`() async {
        let right = LARight()
        let recorder = Recorder()
        right.publisher(for: \.state).sink(receiveValue: recorder.add).cancel()
        await failToAuthorize(right)
        #expect(recorder.value == [.unknown])
    }

    @Test func `operators of Combine apply`() async {
        let right = LARight()
        let recorder = Recorder()
        var subscriptions = Set<AnyCancellable>()
        right.publisher(for: \.state).filter { $0 == .notAuthorized }.removeDuplicates()
            .sink(receiveValue: recorder.add).store(in: &subscriptions)
        await failToAuthorize(right)
        await failToAuthorize(right)
        #expect(recorder.value == [.notAuthorized])
    }

    @Test func `a subscription keeps the right and lets it go`() {
        weak var released: LARight?
        var subscription: AnyCancellable?
        do {
            let right = LARight()
            released = right
            subscription = right.publisher(for: \.state).sink { _ in }
        }
        #expect(released != nil)
        subscription?.cancel()
        subscription = nil
        #expect(released == nil)
    }

    @Test func `a subscriber that asks for one value gets the current state and later the latest`() async {
        let right = LARight()
        let subscriber = PausingSubscriber()
        right.publisher(for: \.state).subscribe(subscriber)
        await failToAuthorize(right)
        #expect(subscriber.states.value == [.unknown])
        subscriber.askForOneMore()
        #expect(subscriber.states.value == [.unknown, .notAuthorized])
        subscriber.cancel()
    }

    private final class PausingSubscriber: Subscriber {
        typealias Input = LARight.State
        typealias Failure = Never

        let states = Recorder()
        private var subscription: (any Subscription)?

        func receive(subscription: any Subscription) {
            self.subscription = subscription
            subscription.request(.max(1))
        }

        func receive(_ input: LARight.State) -> Subscribers.Demand {
            states.add(input)
            return .none
        }

        func receive(completion: Subscribers.Completion<Never>) {}
        func askForOneMore() { subscription?.request(.max(1)) }
        func cancel() { subscription?.cancel() }
    }
}
