// Package scripts runs scripts on models: several clients that share an engine ([RunClients], with
// the scripts of package traffic), and calls that pass through the machine ([Models], for the
// scripts of package machine).
package scripts
