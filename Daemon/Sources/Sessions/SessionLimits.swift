package import Authenticators

/// Every limit on what a caller can make the daemon hold or do, with its reason. The limits of a frame are `WireLimits`.
///
/// The stored ones are for all connections together, and depend on how many users the daemon serves.
package struct SessionLimits: Equatable, Sendable {
    /// Connections at once: of a process, so that one which opens more and more does not shut out the others, of a user, and of
    /// all. Each costs a thread, two descriptors and about 20 kB; a desktop session has some dozens of programs.
    let connections: ShareLimits
    /// Requests that wait for a person or a slow part. Each holds up to three descriptors. A program has places for all watches of
    /// its environment, which ask again together when one thing changes, and for the requests of one connection besides.
    let slowRequests: ShareLimits
    /// Requests that only read, but much. Each holds one descriptor at most, the terminal.
    let readings: ShareLimits
    /// Watches of the environment. A program needs one for each of its processes. Each watch has a connection for itself, and all
    /// watches have half of the connections: others must be able to connect.
    let watches: ShareLimits
    /// Clients of doors, by the program that a client runs. Each holds two descriptors: of its folder in `/proc`, and of its exit.
    let clients: ShareLimits
    /// Connections that watch items. Each remembers some changes, about 20 kB at most.
    let itemWatches: ShareLimits
    /// Passwords that programs leave in contexts. Each takes at most a cell of 1,024 bytes in locked memory.
    package let credentials: ShareLimits
    /// Objects and requirements that contexts remember a grant of. An opened right takes 3 kB as a rule, and 30 kB with the longest
    /// names. A connection has up to 1,024 contexts, each with any number of rights.
    let grants: ShareLimits
    /// Domains that are asked for their association files at once. Each costs a process, and for the whole machine a connection of the few
    /// that `ostiary-association.socket` admits. A domain's server that does not answer holds it for ten seconds.
    package let associations: ShareLimits

    // MARK: of all connections

    /// For a daemon that serves one user, who may hold all of it. Connections take half of the descriptors that a process has as a
    /// rule. All that these limits allow together is more: a greeted program can leave three more in each connection, of a frame that
    /// is not complete. So ostiaryd raises its limit to ``descriptorCountOfMany`` where it may, and a program that lets much wait does
    /// not keep the daemon from accepting or asking. Four programs can take an eighth of the locked memory.
    package static let ofOneUser = SessionLimits(
        connections: ShareLimits(ofProgram: 64, total: 256),
        slowRequests: ShareLimits(ofProgram: 32 + slowRequestCount, total: 128),
        readings: ShareLimits(ofProgram: 16, total: 64),
        watches: ShareLimits(ofProgram: 32, total: 128),
        clients: ShareLimits(ofProgram: 32, total: 128),
        itemWatches: ShareLimits(ofProgram: 16, total: 64),
        credentials: ShareLimits(ofProgram: 256, total: 1024),
        grants: ShareLimits(ofProgram: 4096, total: 16_384),
        associations: ShareLimits(ofProgram: 4, total: 16))

    /// As many descriptors as the limits of one user are made for.
    private static let descriptorCountOfOneUser = 1024
    /// More descriptors than this give no more places: 2,048 connections cost 40 MB, and as many threads.
    package static let descriptorCountOfMany = 8 * descriptorCountOfOneUser
    /// One user has at most this part of all places, so that some are left to others.
    private static let usersAtLeast = 4

    /// For a daemon that serves many users. All together have as many places as the descriptors allow. Each user has as many as in
    /// a daemon for one user, but a quarter of all at most, and their programs have the same part of them as there.
    package static func ofMany(descriptorCount: Int) -> SessionLimits {
        let descriptors = min(descriptorCount, descriptorCountOfMany)
        let descriptorsOfUser = min(descriptors / usersAtLeast, descriptorCountOfOneUser)
        func shared(_ one: ShareLimits) -> ShareLimits {
            ShareLimits(
                ofProgram: count(one.ofProgram, for: descriptorsOfUser),
                ofOwner: count(one.total, for: descriptorsOfUser), total: count(one.total, for: descriptors))
        }
        return SessionLimits(
            connections: shared(ofOneUser.connections), slowRequests: shared(ofOneUser.slowRequests),
            readings: shared(ofOneUser.readings), watches: shared(ofOneUser.watches),
            clients: shared(ofOneUser.clients), itemWatches: shared(ofOneUser.itemWatches),
            // Locked memory does not grow with the descriptors.
            credentials: ShareLimits(
                ofProgram: 64, ofOwner: ofOneUser.credentials.total / usersAtLeast, total: ofOneUser.credentials.total),
            // Nor does other memory. With the longest names the grants of one user take 250 MB, and all grants 1 GB; the unit permits
            // 2 GiB.
            grants: ShareLimits(
                ofProgram: ofOneUser.grants.ofProgram, ofOwner: ofOneUser.grants.total / 2,
                total: usersAtLeast * ofOneUser.grants.total / 2),
            // Nor do the processes at the socket of `ostiary-association`.
            associations: ShareLimits(
                ofProgram: 2, ofOwner: ofOneUser.associations.total / usersAtLeast,
                total: ofOneUser.associations.total))
    }

    /// The part of `count` that so many descriptors bear.
    private static func count(_ count: Int, for descriptors: Int) -> Int {
        max(1, count * descriptors / descriptorCountOfOneUser)
    }

    // MARK: of one connection

    /// Requests of one connection that wait for a person or a slow part.
    static let slowRequestCount = 16
    /// Readings of one connection. One more is answered by the connection's own thread: none is refused. One that must ask takes the
    /// place of a slow request. A client's further readings are refused instead.
    static let readingCount = 8
    /// Clients of one door's connection.
    static let clientCount = 64
    /// Time after which the thread that accepts at an inherited socket shows that it is well, in seconds: the service manager wants to
    /// hear of it every half minute.
    static let turnSeconds = 10
    /// Body of a frame before the greeting is answered; a hello has some 30 bytes.
    static let greetingByteCount = 4096
    /// Time to greet, in seconds.
    static let handshakeSeconds = 5
    /// Programs at once that are told why their owner could not be opened. Anybody's programs can be such, under many user numbers,
    /// each with a share of the connections of its own; one more is sent away without a word.
    static let refusedCallerCount = 16
    /// Time for such a program to greet, in seconds.
    static let refusedHandshakeSeconds = 2
    /// Time for the caller to take an answer off the socket, in seconds.
    static let sendSeconds = 10
    /// Time for all sessions to end when the daemon does, in seconds: a prompt has one to restore its terminal, and checking
    /// a passcode takes less.
    static let endSeconds = 3
    /// Time for requests that were sent before the daemon's end to be answered, in seconds.
    package static let finishSeconds = 1
    /// Keys of one connection that wait for their item, each a few kB: as many as a program can be making at once.
    static let draftKeyCount = slowRequestCount
}
