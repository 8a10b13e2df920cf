// Uses a shared store as a second server does: store-process CONNECTION CREDENTIAL COUNT. Begins at a line on standard input.
// Offers the counters 1 to COUNT of the credential and takes as many challenges, many at a time, in an order by chance. Prints
// its results as JSON.
import Foundation
import RelyingParty
import RelyingPartyPostgreSQL

struct Outcome: Encodable, Sendable {
    var accepted: [UInt32] = []
    var taken: [UInt32] = []
}

let arguments = CommandLine.arguments
guard arguments.count == 4, let count = UInt32(arguments[3]) else {
    FileHandle.standardError.write(Data("usage: store-process CONNECTION CREDENTIAL COUNT\n".utf8))
    exit(64)
}
let store = try await PostgreSQLStore(
    connection: arguments[1], maximumConnectionCount: 8, maximumWaitingCount: Int(count))
let credential = Data(arguments[2].utf8)
_ = readLine()
let outcome = try await withThrowingTaskGroup(of: (UInt32, accepted: Bool, taken: Bool).self) { group in
    for number in (1...count).shuffled() {
        group.addTask {
            let use = CredentialUse(credentialID: credential, signatureCounter: number, isBackedUp: false)
            let accepted = try await store.accept(use) == .accepted
            let challenge = try await store.take(Data("challenge \(number)".utf8), at: Date(timeIntervalSince1970: 0))
            return (number, accepted, challenge != nil)
        }
    }
    var outcome = Outcome()
    for try await (number, accepted, taken) in group {
        if accepted { outcome.accepted.append(number) }
        if taken { outcome.taken.append(number) }
    }
    return outcome
}
FileHandle.standardOutput.write(try JSONEncoder().encode(outcome))
