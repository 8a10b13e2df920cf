package import DoorSupport
import Foundation
import Glibc
package import SecretMemory

/// Git's side: `git-credential-ostiary get`, `store` and `erase` (gitcredentials(7), "CUSTOM HELPERS").
package struct GitCredentialHelper: Sendable {
    private let items: CredentialItems
    /// Seconds since 1970.
    private let now: UInt64

    /// - Parameter now: in seconds since 1970; nil for the clock's time.
    package init(_ items: CredentialItems, now: UInt64? = nil) {
        self.items = items
        self.now = now ?? UInt64(max(0, time(nil)))
    }

    // MARK: get

    /// The lines for git; nil when there is nothing for it.
    package func get(_ wanted: GitCredential) throws -> SecretBytes? {
        let place = try wanted.place()
        guard let found = Self.best(of: try items.list(place.searched)) else { return nil }
        let reason = "sign in to \(place.label)"
        let credential = try items.read(found, reason: reason) { item, secret in
            try CredentialSecret.credential(described: item.description, account: item.account, secret)
        }
        return credential.flatMap { answer(to: wanted, $0, of: found) }
    }

    /// The one that was stored last. While they are locked nobody can say which that is, and the youngest comes last.
    private static func best(of found: [CredentialItems.Found]) -> CredentialItems.Found? {
        let open = found.filter { !$0.isLocked }
        return open.isEmpty ? found.last : open.reversed().max { $0.changed < $1.changed }
    }

    private func answer(
        to wanted: GitCredential, _ kept: GitCredential, of found: CredentialItems.Found
    ) -> SecretBytes? {
        var answer = kept
        answer.capabilities = []
        if !wanted.capabilities.contains(.authtype) { (answer.authtype, answer.credential) = (nil, nil) }
        // A password that is over is of use to nobody, unless a program can renew it.
        if let expiry = answer.expiry, expiry <= now, answer.refreshToken == nil {
            (answer.password, answer.expiry) = (nil, nil)
        }
        if answer.credential != nil { answer.capabilities.insert(.authtype) }
        guard answer.password != nil || answer.credential != nil else { return nil }
        if wanted.capabilities.contains(.state) {
            answer.capabilities.insert(.state)
            answer.states = [CredentialState(found.id).text]
        }
        return answer.answer()
    }

    // MARK: store

    /// Keeps a credential that git used with success.
    ///
    /// One that came from here is there already. An item with a rule is left as it is: comparing or replacing it would ask the person
    /// after each use. When its password has become wrong, git has it erased before it asks for another one.
    package func store(_ given: GitCredential) throws {
        var place = try given.place()
        guard given.states.allSatisfy({ CredentialState(parsing: $0) == nil }) else { return }
        guard let secret = CredentialSecret(given) else { return }
        (place.path, place.account) = (place.path ?? "", place.account ?? "")
        let reason = "keep the credential for \(place.label)"
        guard let former = try items.list(place.exact).first else {
            return try items.add(place, secret, reason: reason)
        }
        guard !former.hasRule else { return }
        let isSame = try items.read(former, reason: reason) { secret.isEqual(to: $1, described: $0.description) }
        switch isSame {
        case true?: return
        case false?: try items.replace(former, by: secret, reason: reason)
        // It has gone meanwhile.
        case nil: try items.add(place, secret, reason: reason)
        }
    }

    // MARK: erase

    /// Forgets what git says is wrong: with a password the items that hold it, else all that match.
    package func erase(_ given: GitCredential) throws {
        let place = try given.place()
        let found = try items.list(place.searched)
        let own = given.states.compactMap { CredentialState(parsing: $0) }
        if let state = own.last { return try items.delete(found.filter { $0.id == state.item }) }
        guard let wrong = given.password ?? given.credential else { return try items.delete(found) }
        let reason = "compare the credential for \(place.label) with one that was refused"
        let matching = try found.filter { item in
            try items.read(item, reason: reason) { item, secret in
                let kept = try CredentialSecret.credential(
                    described: item.description, account: item.account, secret)
                return [kept.password, kept.credential].contains { $0?.isEqual(to: wrong) == true }
            } == true
        }
        try items.delete(matching)
    }
}

extension GitCredential {
    /// Where the credential is kept.
    ///
    /// - Throws: `malformedInput` without protocol or host. A search for nothing would find everything.
    package func place() throws(DoorFailure) -> CredentialPlace {
        guard let networkProtocol, !networkProtocol.isEmpty else { throw .malformedInput("it names no protocol") }
        guard let host else { throw .malformedInput("it names no host") }
        // Only such as cert:///path have no host.
        guard !host.isEmpty || path?.isEmpty == false else { throw .malformedInput("it names no host") }
        return CredentialPlace(
            .git, networkProtocol: networkProtocol, host: host, path: path, account: username)
    }
}

/// What git says again of a credential that came from here: the item's id.
struct CredentialState: Equatable {
    let item: Data

    init(_ item: Data) { self.item = item }

    /// Nil for another helper's.
    init?(parsing text: String) {
        guard text.hasPrefix(Self.prefix) else { return nil }
        let digits = text.dropFirst(Self.prefix.count).utf8.map { UInt8($0) }
        // A sign would be read as a part of the number.
        guard digits.count == 32, !digits.contains(UInt8(ascii: "+")) else { return nil }
        var bytes: [UInt8] = []
        for begin in stride(from: 0, to: digits.count, by: 2) {
            guard let byte = UInt8(String(decoding: digits[begin..<begin + 2], as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(byte)
        }
        item = Data(bytes)
    }

    var text: String {
        Self.prefix + item.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    private static let prefix = "ostiary.item="
}
