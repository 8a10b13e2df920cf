import Foundation
import OstiaryClient

/// A right that the daemon stores, with a key and perhaps a secret that nobody can use before it is authorized (Apple's
/// `LAPersistedRight`).
///
/// It comes from ``LARightStore`` alone. Requirement, key and secret are fixed for good and never leave this machine.
/// Like any right it has to be authorized again in each process that uses it. Once it was removed from the store it can
/// be neither authorized nor used: `errSecItemNotFound` (`NSOSStatusErrorDomain`).
public final class LAPersistedRight: LARight {
    /// The private key behind the right, P-256.
    public let key: LAPrivateKey

    /// The secret that was stored with the right; loading it fails when there is none.
    public let secret: LASecret

    let id: Data

    init(stored: StoredRight, service: any AuthorizationService) {
        let authorization = RightAuthorization(.right(id: stored.id), service: service)
        id = stored.id
        key = LAPrivateKey(authorization: authorization, stored: stored)
        secret = LASecret(authorization: authorization, rightID: stored.id)
        super.init(authorization, accessControl: stored.accessControl)
    }
}
