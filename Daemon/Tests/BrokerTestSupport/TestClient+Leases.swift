public import Foundation
public import OstiaryMessages
import SecretMemory

extension TestClient {
    /// The path of this test's program, as the daemon names it.
    public var program: String {
        get throws { try status().caller.program }
    }

    /// Grants a lease for this test's program, for an hour.
    @discardableResult
    public func grantLease(
        _ objects: [Data], _ change: (inout WireGrantLeaseRequest) throws -> Void = { _ in }
    ) throws -> WireLease {
        var request = WireGrantLeaseRequest()
        request.objectIDs = objects
        request.program = try program
        request.hardSeconds = 3600
        request.question = Self.question
        try change(&request)
        guard case .lease(let lease) = try call(.grantLease(request)).body else { throw UnexpectedAnswer() }
        return lease
    }

    public func leases() throws -> [WireLease] {
        var leases: [WireLease] = []
        while true {
            let request = WireListLeasesRequest.with { $0.offset = UInt32(leases.count) }
            guard case .leases(let page) = try call(.listLeases(request)).body else { throw UnexpectedAnswer() }
            leases += page.leases
            if leases.count >= Int(page.total) { return leases }
        }
    }

    /// - Parameter id: nil for all.
    @discardableResult
    public func revokeLeases(_ id: UInt64?) throws -> Int {
        guard case .done(let done) = try call(.revokeLeases(.with { $0.leaseID = id })).body else {
            throw UnexpectedAnswer()
        }
        return Int(done.count)
    }

    /// One confirmed signature for which nobody may be asked.
    public func signSilently(_ data: Data, with right: WireRight) throws -> Data {
        let request = WireConfirmedSignRequest.with {
            ($0.rightID, $0.algorithm) = (right.rightID, "algid:sign:ECDSA:message-X962:SHA256")
            $0.question = Self.question
            $0.question.interactionNotAllowed = true
        }
        return try call(.confirmedSign(request), tail: SecretBytes(bytes: data)).tail
    }
}
