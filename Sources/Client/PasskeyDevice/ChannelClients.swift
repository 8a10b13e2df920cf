import OstiaryClient
import Synchronization

/// A connection to the daemon for each channel of the device. Tokens and lists under way belong to a connection, so no program that
/// shares the device goes on with the list that another one began.
final class ChannelClients: Sendable {
    /// Clients take a channel whenever they open the device, and never give it back. A connection that is dropped takes its tokens
    /// along; its client asks for another one. The daemon takes 64 connections of a process.
    static let limit = 8

    private let origin: OstiaryClient
    /// The one that was used last is the last.
    private let open = Mutex<[(channel: UInt32, client: OstiaryClient)]>([])

    init(of origin: OstiaryClient) { self.origin = origin }

    subscript(channel: UInt32) -> OstiaryClient {
        open.withLock { open in
            let known = open.firstIndex { $0.channel == channel }.map { open.remove(at: $0).client }
            if known == nil, open.count == Self.limit { open.removeFirst() }
            let client = known ?? origin.separate()
            open.append((channel, client))
            return client
        }
    }
}
