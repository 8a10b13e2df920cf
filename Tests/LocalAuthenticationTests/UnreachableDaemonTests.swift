import Foundation
import LocalAuthentication
import OstiaryTesting
import Testing

/// The classes as apps make them, where no daemon runs and none can be started.
@Suite(.timeLimit(.minutes(10))) struct UnreachableDaemonTests {
    init() {
        let folder = NSTemporaryDirectory() + "ostiary-nobody-\(UUID().uuidString)"
        OstiaryTesting.useDaemon(runtimeDirectory: folder + "/run", stateDirectory: folder + "/state")
    }

    @Test func `a context reports its own domain with the status beneath`() async {
        let context = LAContext()
        var error: NSError?
        #expect(!context.canEvaluatePolicy(.deviceOwnerAuthentication, error: &error))
        #expect(error?.domain == LAErrorDomain)
        #expect(error?.code == -4)
        expectStatus(errSecNotAvailable, error?.userInfo[NSUnderlyingErrorKey] as? any Error)
        let refusal = await thrownError {
            try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "test")
        }
        expectAuthenticationError(.systemCancel, cause: "daemon.unavailable", refusal)
        #expect(!context.setCredential(Data([1]), type: .applicationPassword))
    }

    @Test func `a right is not authorized and can still be deauthorized`() async {
        let right = LARight()
        expectStatus(errSecNotAvailable, await thrownError { try await right.checkCanAuthorize() })
        expectStatus(errSecNotAvailable, await thrownError { try await right.authorize(localizedReason: "test") })
        #expect(right.state == .notAuthorized)
        await right.deauthorize()
    }

    @Test func `the store is not available`() async {
        let store = LARightStore.shared
        #expect(store === LARightStore.shared)
        expectStatus(errSecNotAvailable, await thrownError { _ = try await store.right(forIdentifier: "r") })
        expectStatus(errSecNotAvailable, await thrownError { try await store.saveRight(LARight(), identifier: "r") })
        expectStatus(errSecNotAvailable, await thrownError { try await store.removeAllRights() })
    }
}
