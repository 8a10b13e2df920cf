import Auditing
import AuthenticatorRequests
import Authenticators
import Callers
import ExactNames
import Foundation
import OstiaryMessages
import Owners
import Passkeys
import Refusals
import SecretMemory
import Sessions

/// Commands of CTAP from programs that the owner registered as browsers. These choose relying party and client data, so no domain
/// confirms them; the question shows which relying party the program named.
extension Broker {
    func answerAuthenticatorCommand(_ exchange: Exchange) throws -> Reply {
        try requireBrowser(exchange)
        let asking = try exchange.asking(.withoutReason)
        let passkeys = OwnerPasskeys(of: exchange.account, asking: asking, through: .browser)
        let command = unsafe exchange.request.tail.withUnsafeBytes { unsafe [UInt8]($0) }
        var isReleased = false
        defer { finishCreation(by: PlatformAuthenticator(passkeys), isReleased: isReleased) }
        let answer = try exchange.session.browserAuthenticator.answer(
            command, with: passkeys, endedBy: asking.cancellation)
        record(passkeys.error, exchange)
        try release(of: passkeys, exchange, asking)
        isReleased = answer.first == 0
        var bytes = Data(answer)
        return .payload(SecretBytes(taking: &bytes))
    }

    private func requireBrowser(_ exchange: Exchange) throws(Refusal) {
        let identity = exchange.caller.identity
        guard identity.applicationID != nil else {
            throw Refusal(
                .missingEntitlement,
                "The program is not registered, and only a browser may choose the domain. Register it: "
                    + "ostiary app register PROGRAM --id ID --browser", cause: "browser.not-registered")
        }
        guard identity.isBrowser else {
            throw Refusal(
                .missingEntitlement,
                "The program is registered, but not as a browser. Remove its registration with `ostiary app remove`, and "
                    + "register it again with --browser.", cause: "browser.not-a-browser")
        }
    }

    /// The client gets a status of CTAP, and the log the reason.
    private func record(_ error: (any Error)?, _ exchange: Exchange) {
        guard let error else { return }
        let refusal = refusal(for: error, ofUser: exchange.account.user.id)
        if RefusalMapping.isDecision(refusal) { exchange.trail.refuse(exchange.event(), because: refusal) }
    }

    /// The program must still be who it was, and a browser. Signatures of sign-ins are recorded when they are made.
    private func release(of passkeys: OwnerPasskeys, _ exchange: Exchange, _ asking: Asking) throws {
        try exchange.verifyCaller()
        try requireBrowser(exchange)
        guard let relyingParty = passkeys.unreleasedRelyingParty else { return }
        try exchange.trail.decide {
            try asking.cancellation.check()
            try exchange.trail.grant(
                exchange.event("credential-register", object: relyingParty.identifier.text, operation: "browser"),
                factors: [], strength: "", isProved: false)
        }
    }
}
