import BrokerTestSupport
import HelperProcesses
import Opening
import Owners
import ProcessFacts
import Prompting
import Settings
import Testing

/// How each user of one daemon is asked.
@Suite("The prompts of several users")
struct PromptSettingsTests {
    private static let daemon = SystemUser(id: 999, name: "ostiary")

    private func configuration(systemBus: String? = nil) -> BrokerConfiguration {
        var prompts = PromptConfiguration()
        prompts.timeLimitSeconds = 30
        (prompts.display, prompts.waylandDisplay, prompts.xAuthority) = (":7", "wayland-7", "/authority")
        return BrokerConfiguration(
            runsAs: Self.daemon, serves: .anybody(closing: .never), stateDirectory: "/nonexistent",
            helpers: .missing, facts: KernelFacts(), sessionRecords: LogindSessions.ofMachine, prompts: prompts,
            version: "test",
            systemBus: systemBus)
    }

    @Test func `the configured display is that of the daemon's user alone`() {
        let configuration = configuration()
        #expect(configuration.prompts(of: Self.daemon.id) == configuration.prompts)
        var others = configuration.prompts
        (others.display, others.waylandDisplay, others.xAuthority) = (nil, nil, nil)
        #expect(configuration.prompts(of: 1001) == others)
    }

    @Test func `each user's session is asked on their own bus`() {
        let buses = [1001, 1002].map { configuration(systemBus: "/played/system").sessionBuses(of: $0) }
        #expect(buses.map(\.user) == ["/run/user/1001/bus", "/run/user/1002/bus"])
        #expect(buses.map(\.system) == ["/played/system", "/played/system"])
        #expect(configuration().sessionBuses(of: 1001).system == "/run/dbus/system_bus_socket")
    }
}
