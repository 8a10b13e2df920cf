public import Foundation
import SecretMemory

/// The secret of a saved right (Apple's `LASecret`).
public final class LASecret: NSObject, Sendable {
    private let authorization: RightAuthorization
    private let rightID: Data

    init(authorization: RightAuthorization, rightID: Data) {
        self.authorization = authorization
        self.rightID = rightID
        super.init()
    }

    /// The secret. Readable only while the right is authorized, otherwise ``LAError/authenticationFailed`` is thrown;
    /// `errSecItemNotFound` (`NSOSStatusErrorDomain`) when none was stored.
    ///
    /// The bytes are the caller's from then on: nothing wipes a `Data`.
    public var rawData: Data {
        get async throws { try await BlockingCalls.run { [self] _ in try read() } }
    }

    /// Loads the secret as ``rawData`` does (Apple's `loadDataWithCompletion:`).
    public func loadData(completion: @escaping @Sendable (Data?, (any Error)?) -> Void) {
        BlockingCalls.start({ [self] in try read() }, completion: completion)
    }

    private func read() throws -> Data {
        let secret = try authorization.use { try $0.secret(ofRight: rightID, cancellation: nil) }
        return Data(exposing: secret)
    }
}
