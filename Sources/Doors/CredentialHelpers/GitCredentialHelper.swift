package import DoorSupport
import Foundation
import Glibc
package import SecretMemory

/// Git's side: `git-credential-ostiary get`, `store` and `erase` (gitcredentials(7), "CUSTOM HELPERS").
package struct GitCredentialHelper: Sendable {
    private let items: CredentialItems

    package init(_ items: CredentialItems) { self.items = items }

    // MARK: get

    /// The lines for git; nil when there is nothing for it.
    package func get(_ wanted: GitCredential) throws -> SecretBytes? {
        let place = try wanted.place()
        guard let found = Self.best(of: try items.list(place.searched)) else { return nil }
        let reason = "sign in to \(place.label)"
        let credential = try items.read(found, reason: reason) { item, secret in
            try CredentialSecret.credential(described: item.description, account: item.account, secret)
        }
        // Only now: the person may have taken a while to answer.
        let now = UInt64(max(0, time(nil)))
        return credential.flatMap { Self.answer(to: wanted, $0, of: found.id, now: now) }
    }

    /// The one that was stored last. While they are locked nobody can say which that is, and the youngest comes last.
    private static func best(of found: [CredentialItems.Found]) -> CredentialItems.Found? {
        let open = found.filter { !$0.isLocked }
        return open.isEmpty ? found.last : open.reversed().max { $0.changed < $1.changed }
    }

    /// The lines for git of a kept credential; nil when nothing of it is of use.
    ///
    /// - Parameters:
    ///   - item: the id of the item that keeps it.
    ///   - now: in seconds since 1970.
    static func answer(
        to wanted: GitCredential, _ kept: GitCredential, of item: Data, now: UInt64
    ) -> SecretBytes? {
        var answer = kept
        answer.capabilities = []
        if let expiry = kept.expiry, expiry <= now { return refreshToken(of: answer) }
        if !wanted.capabilities.contains(.authtype) { (answer.authtype, answer.credential) = (nil, nil) }
        if answer.credential != nil { answer.capabilities.insert(.authtype) }
        guard answer.password != nil || answer.credential != nil else { return nil }
        if wanted.capabilities.contains(.state) {
            answer.capabilities.insert(.state)
            answer.states = [CredentialState(item).text]
        }
        return answer.answer()
    }

    /// What is left of a credential that is over: the token with which the next helper can renew it; nil without one.
    ///
    /// No state goes along. Git returns it with the credential that the next helper gave, as if that one came from here.
    private static func refreshToken(of kept: GitCredential) -> SecretBytes? {
        guard kept.refreshToken != nil else { return nil }
        var answer = kept
        (answer.password, answer.expiry, answer.authtype, answer.credential) = (nil, nil, nil, nil)
        return answer.answer()
    }

    // MARK: store

    /// Keeps a credential that git used with success.
    ///
    /// One that came from here is there already. An item with a rule is never compared, because that would ask the person after each
    /// use. It is replaced by another one where its attributes tell that its secret was renewed. Else it is left as it is: when its
    /// password has become wrong, git has it erased before it asks for another one.
    package func store(_ given: GitCredential) throws {
        var place = try given.place()
        guard given.states.allSatisfy({ CredentialState(parsing: $0) == nil }) else { return }
        guard let secret = CredentialSecret(given) else { return }
        (place.path, place.account) = (place.path ?? "", place.account ?? "")
        let reason = "keep the credential for \(place.label)"
        let kept = try items.list(place.exact)
        guard let former = kept.last else { return try items.add(place, secret, reason: reason) }
        guard !former.hasRule else {
            guard try items.holdsOther(than: secret, at: place) else { return }
            return try items.add(place, secret, insteadOf: kept, reason: reason)
        }
        let isSame = try items.read(former, reason: reason) { secret.isEqual(to: $1, described: $0.description) }
        switch isSame {
        case true?: return
        case false?: try items.replace(former, by: secret, reason: reason)
        // It has gone meanwhile.
        case nil: try items.add(place, secret, reason: reason)
        }
    }

    // MARK: erase

    /// Forgets what git says is wrong: with a state of ours the item that it names, else all that match. With a password only those that
    /// hold it, because a newer one may have been stored since.
    package func erase(_ given: GitCredential) throws {
        let place = try given.place()
        var found = try items.list(place.searched)
        let own = given.states.compactMap { CredentialState(parsing: $0) }.last
        if let own { found = found.filter { $0.id == own.item } }
        guard let wrong = given.password ?? given.credential else { return try items.delete(found) }
        let reason = "compare the credential for \(place.label) with one that was refused"
        let matching = try found.filter { item in
            // Comparing would ask for the rule. It is not needed: a renewed secret is another item there, and nobody puts another one
            // into this item without a proof.
            if own != nil, item.hasRule { return true }
            return try holds(item, wrong, reason: reason)
        }
        try items.delete(matching)
    }

    private func holds(_ item: CredentialItems.Found, _ wrong: Secret, reason: String) throws -> Bool {
        try items.read(item, reason: reason) { item, secret in
            let kept = try CredentialSecret.credential(described: item.description, account: item.account, secret)
            return [kept.password, kept.credential].contains { $0?.isEqual(to: wrong) == true }
        } == true
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
