import Foundation
import Hummingbird
import RelyingPartyHummingbird

/// A request to the site, and who is signed in.
struct SiteContext: SignInRequestContext {
    var coreContext: CoreRequestContextStorage
    var account: Data?

    init(source: Source) { coreContext = CoreRequestContextStorage(source: source) }

    /// The account of who is signed in.
    func signedIn() throws -> Data {
        guard let account else { throw Refusal.signedOut }
        return account
    }
}
