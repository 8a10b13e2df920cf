import Crypto
public import Foundation

/// Keeps who is signed in. Several servers need one store that they share: write a type for your database.
public protocol SignInSessionStore: Sendable {
    /// - Parameter token: the value of the browser's cookie. Keep a digest: who reads the store then signs in as nobody.
    func begin(_ token: Data, account: Data, at date: Date) async throws

    /// The account, unless the session ended or expired.
    func account(_ token: Data, at date: Date) async throws -> Data?

    func end(_ token: Data) async throws

    /// Ends all sessions of an account. Call it when a credential is removed: somebody may have signed in with it.
    func endAll(of account: Data) async throws
}

/// The sessions of one server, which end with it.
public actor SignInSessionsInMemory: SignInSessionStore {
    private struct Session {
        let account: Data
        let expiration: Date
    }

    private let lifetime: TimeInterval
    private let maximumCount: Int
    private var sessions: [Data: Session] = [:]

    /// - Parameters:
    ///   - lifetime: how long somebody stays signed in, in seconds.
    ///   - maximumCount: how many sessions are kept. One more ends the one that expires first.
    public init(lifetime: TimeInterval = 12 * 60 * 60, maximumCount: Int = 100_000) {
        self.lifetime = lifetime
        self.maximumCount = maximumCount
    }

    private static func digest(_ token: Data) -> Data { Data(SHA256.hash(data: token)) }

    public func begin(_ token: Data, account: Data, at date: Date) {
        if sessions.count >= maximumCount { makeRoom(at: date) }
        sessions[Self.digest(token)] = Session(account: account, expiration: date.addingTimeInterval(lifetime))
    }

    private func makeRoom(at date: Date) {
        sessions = sessions.filter { $0.value.expiration > date }
        guard sessions.count >= maximumCount else { return }
        if let first = sessions.min(by: { $0.value.expiration < $1.value.expiration }) { sessions[first.key] = nil }
    }

    public func account(_ token: Data, at date: Date) -> Data? {
        guard let session = sessions[Self.digest(token)], session.expiration > date else { return nil }
        return session.account
    }

    public func end(_ token: Data) { sessions[Self.digest(token)] = nil }

    public func endAll(of account: Data) { sessions = sessions.filter { $0.value.account != account } }
}
