import Foundation
import GRDB

@testable import Broker
@testable import OwnerKeys

extension BrokerFixture {
    /// Whose application passwords the store counts guesses at.
    func guessedSubjects() throws -> [Data] {
        let queue = try DatabaseQueue(path: stateDirectory + "/vault.sqlite")
        defer { withExtendedLifetime(queue) {} }
        return try queue.read { database in
            try Data.fetchAll(
                database, sql: "SELECT row_key FROM attempt_counters WHERE row_key <> ?",
                arguments: [AttemptCounters.passcode])
        }
    }
}
