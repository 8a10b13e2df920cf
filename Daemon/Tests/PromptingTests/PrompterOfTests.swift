import HelperProcesses
import ProcessFacts
import Prompting
import Settings

extension ProcessPrompter {
    /// Where a test says nothing, this machine's kernel, buses and logind.
    init(
        over helpers: HelperRoads, configuration: PromptConfiguration, userID: UInt32,
        facts: any CallerFacts = KernelFacts(), buses: SessionBuses? = nil, sessions: (any SessionRecords)? = nil
    ) {
        let buses = buses ?? .standard(of: userID)
        self.init(
            helpers, configuration: configuration, userID: userID, facts: facts, buses: buses,
            sessions: sessions ?? LogindSessions(systemBus: buses.system, facts: facts))
    }

    /// - Parameter program: takes the place of `ostiary-prompt`; the other helpers lie beside it.
    init(
        program: String, configuration: PromptConfiguration, userID: UInt32,
        facts: any CallerFacts = KernelFacts(), buses: SessionBuses? = nil, sessions: (any SessionRecords)? = nil
    ) {
        var helpers = HelperRoads.beside(program: program)
        helpers.prompt = .spawned(program: program)
        self.init(
            over: helpers, configuration: configuration, userID: userID, facts: facts, buses: buses,
            sessions: sessions)
    }
}
