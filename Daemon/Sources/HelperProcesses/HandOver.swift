import CLinuxShims
import Glibc
import UnixSocket

/// The descriptors that a helper is given beside 0, 1 and 2, which are the null device.
package struct GivenDescriptors: Sendable {
    /// The number that the connection to the daemon has in the helper.
    let connection: Int32
    /// The descriptors with the numbers from 3 on; -1 is the null device. The connection's own entry is not used.
    let others: [CInt]

    /// Nothing but the connection, as number 3.
    package static let none = GivenDescriptors(connection: 3, count: 4) { _ in -1 }

    /// - Parameters:
    ///   - connection: the number that the connection to the daemon has in the helper.
    ///   - count: one more than the highest number in the helper.
    ///   - descriptor: the descriptor of this process for a number in the helper; -1 for the null device.
    package init(connection: Int32, count: Int, _ descriptor: (Int32) -> CInt) {
        precondition(
            (4...Int(HelperProcessLimits.highestNumber) + 1).contains(count) && (3..<Int32(count)).contains(connection))
        self.connection = connection
        others = (3..<Int32(count)).map { $0 == connection ? -1 : descriptor($0) }
    }

    /// All numbers of a spawned helper.
    func numbers(withConnection descriptor: CInt) -> [CInt] {
        var numbers = [-1, -1, -1] + others
        numbers[Int(connection)] = descriptor
        return numbers
    }
}

/// The first messages on the connection to an activated helper. A spawned helper has its descriptors from its birth, and gets none
/// of them.
///
/// The helper sends the greeting, of one byte. With it the kernel gives the helper's process and account. Then the daemon sends a
/// message of two bytes for each descriptor, kind and number, and one with the number of the connection as the last.
enum HandOver {
    static let greeting: [UInt8] = [1]

    enum Kind: UInt8 {
        /// The number is the null device.
        case nullDevice = 1
        /// The number is the descriptor that comes along.
        case descriptor = 2
        /// Everything was given, and this is the number of the connection.
        case complete = 3
    }

    /// The daemon's side.
    static func give(_ given: GivenDescriptors, on connection: CInt) throws(SystemCallError) {
        for (index, descriptor) in given.others.enumerated() {
            let number = Int32(index + 3)
            guard number != given.connection else { continue }
            try send(descriptor < 0 ? .nullDevice : .descriptor, number, descriptor, on: connection)
        }
        try send(.complete, given.connection, -1, on: connection)
    }

    private static func send(
        _ kind: Kind, _ number: Int32, _ descriptor: CInt, on connection: CInt
    ) throws(SystemCallError) {
        let bytes = [kind.rawValue, UInt8(number)]
        let count = descriptor < 0 ? 0 : 1 as CInt
        guard unsafe ostiary_send(connection, bytes, bytes.count, [descriptor], count) == bytes.count else {
            throw SystemCallError("sendmsg")
        }
    }
}
