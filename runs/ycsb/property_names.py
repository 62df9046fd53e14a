"""The names of the properties that YCSB's core, its bindings and go-ycsb read, by their sources and documents."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from runs.ycsb.messages import FILE_IF_ANY, FILE_OR_DEFAULT
from runs.ycsb.properties import WORKLOAD_PROPERTIES
from runs.ycsb.property_schema import nearest

_NAMES: Final = """
accumulo.batchWriterMaxLatency accumulo.batchWriterSize accumulo.batchWriterThreads accumulo.columnFamily
accumulo.instanceName accumulo.password accumulo.pcFlag accumulo.username accumulo.zooKeepers aerospike.host
aerospike.ns aerospike.port alibaba.cloud.tablestore.access_id alibaba.cloud.tablestore.access_key
alibaba.cloud.tablestore.connection_timeout alibaba.cloud.tablestore.end_point
alibaba.cloud.tablestore.instance_name alibaba.cloud.tablestore.max_connections alibaba.cloud.tablestore.max_version
alibaba.cloud.tablestore.primary_key alibaba.cloud.tablestore.socket_timeout arangodb.dropDBBeforeRun arangodb.ip
arangodb.port arangodb.protocol arangodb.transactionUpdate arangodb.waitForSync as.host as.namespace as.password
as.port as.timeout as.user azure.account azure.batchsize azure.endpoint azure.key azure.partitionkey azure.protocal
azure.protocol azure.table azurecosmos.consistencyLevel azurecosmos.databaseName
azurecosmos.directIdleConnectionTimeoutInSeconds azurecosmos.directMaxConnectionsPerEndpoint
azurecosmos.gatewayIdleConnectionTimeoutInSeconds azurecosmos.gatewayMaxConnectionPoolSize
azurecosmos.includeExceptionStackInLog azurecosmos.maxBufferedItemCount azurecosmos.maxDegreeOfParallelism
azurecosmos.maxRetryAttemptsOnThrottledRequests azurecosmos.preferredPageSize azurecosmos.primaryKey azurecosmos.uri
azurecosmos.useGateway azurecosmos.userAgent azurecosmos.useUpsert badger.dir basicdb.count basicdb.randomizedelay
basicdb.simulatedelay basicdb.verbose batch.size batchsize boltdb.path cache cassandra.cluster cassandra.connections
cassandra.connecttimeoutmillis cassandra.coreconnections cassandra.keyspace cassandra.maxconnections
cassandra.password cassandra.readconsistencylevel cassandra.readtimeoutmillis cassandra.tracing cassandra.username
cassandra.useSSL cassandra.writeconsistencylevel clientbuffering cloudspanner.batchinserts
cloudspanner.boundedstaleness cloudspanner.channels cloudspanner.database cloudspanner.experimentalhost
cloudspanner.host cloudspanner.instance cloudspanner.project cloudspanner.readmode cloudspanner.useplaintext
cluster.name clusterName columnfamily command consistency core_workload_insertion_keep_going_on_error
core_workload_insertion_retry_interval core_workload_insertion_retry_limit couchbase.adhoc couchbase.boost
couchbase.bucket couchbase.checkFutures couchbase.ddoc couchbase.documentExpiry couchbase.epoll couchbase.host
couchbase.kv couchbase.kvEndpoints couchbase.maxParallelism couchbase.networkMetricsInterval couchbase.password
couchbase.persistTo couchbase.queryEndpoints couchbase.replicateTo couchbase.runtimeMetricsInterval couchbase.stale
couchbase.syncMutationResponse couchbase.upsert couchbase.url couchbase.useJson couchbase.view crail.enumeratekeys
dataintegrity db db.batchsize db.driver db.passwd db.url db.user debug debug.pprof delayedintervals delayedseries
deletedelimiter deleteproportion deleterecordcount dotransactions downsamplingfunction downsamplinginterval
downsamplingkey dropdata durability durable dynamodb.awsCredentialsFile dynamodb.connectMax
dynamodb.consistent.reads dynamodb.consistentReads dynamodb.debug dynamodb.delete.after.run.stage dynamodb.endpoint
dynamodb.ensure.clean.table dynamodb.hashKeyName dynamodb.hashKeyValue dynamodb.primarykey dynamodb.primaryKey
dynamodb.primaryKeyType dynamodb.rc.units dynamodb.region dynamodb.table.capacity.mode dynamodb.tablename
dynamodb.wc.units elastic.insecure_ssl elastic.nodes elastic.password elastic.url elastic.username es.hosts.list
es.index.key es.new_index es.newdb es.number_of_replicas es.number_of_shards es.remote es.setting.cluster.name
etcd.cacert_file etcd.cert_file etcd.dial_timeout etcd.endpoints etcd.key_file etcd.serializable_reads
exponential.frac exponential.percentile exporter exportfile exportmeasurementsinterval fieldcount fieldlength
fieldlengthdistfile fieldlengthdistribution fieldlengthhistogram fieldnameprefix foundationdb.apiversion
foundationdb.batchsize foundationdb.cluster foundationdb.clusterfile foundationdb.dbname geode.locator
geode.serverhost geode.serverport geode.topology googlebigtable2.app-profile googlebigtable2.channel-pool-size
googlebigtable2.family googlebigtable2.instance googlebigtable2.project googlebigtable2.reverse-scans
googlebigtable2.timestamp googlebigtable2.use-batching googledatastore.datasetId googledatastore.debug
googledatastore.entityGroupingMode googledatastore.privateKeyFile googledatastore.projectId
googledatastore.readConsistency googledatastore.serviceAccountEmail googledatastore.skipIndex
googledatastore.tracesamplingratio googledatastore.tracespanexportbatchsize
googledatastore.tracespanprocessordelayms googledatastore.tracespanqueuesize googledatastore.tracingenabled
googledatastore.useChannelProvider googledatastore.usegRPC groupbyfunction groupbykey groupbykeys hashkey
hbase.client.scanner.caching hbase.scanfilteroperator hbase.scanfiltervalue hbase.security.authentication
hbase.usepagefilter hbase.usescanvaluefiltering hbase.zookeeper.quorum hbase.zookeeper.znode.parent
hdrhistogram.fileoutput hdrhistogram.output.path hdrhistogram.percentiles helperHost histogram.buckets
histogram.percentiles.export histogram.percentiles.export.filepath hosts hotspotdatafraction hotspotopnfraction
htrace ignoreinserterrors infinispan.clustered insertcount insertorder insertproportion insertrecordcount
insertretrycount insertstart jdbc.autocommit jdbc.batchupdateapi jdbc.driver jdbc.fetchsize jdbc.password jdbc.url
jdbc.user keyprefix keytab kudu_block_size kudu_master_addresses kudu_partition_schema kudu_pre_split_num_tablets
kudu_sync_ops kudu_table_num_replicas label latencytrackederrors maxexecutiontime maxscanlength
measurement.histogram.verbose measurement.interval measurement.output_file measurement.raw.no_summary
measurement.raw.output_file measurement.trackjvm measurementtype memcached.checkOperationStatus
memcached.failureMode memcached.hosts memcached.objectExpirationTime memcached.opTimeoutMillis memcached.protocol
memcached.readBufferSize memcached.shutdownTimeoutMillis memcached.update minfieldlength minio.access-key
minio.endpoint minio.secret-key minio.secure minscanlength mongodb.batchsize mongodb.database mongodb.maxconnections
mongodb.readPreference mongodb.threadsAllowedToBlockForConnectionMultiplier mongodb.upsert mongodb.url
mongodb.writeConcern mysql.db mysql.force_index mysql.host mysql.password mysql.port mysql.user operationcount
orientdb.newdb orientdb.password orientdb.remote.storagetype orientdb.url orientdb.user outputstyle password
path.home pg.db pg.host pg.password pg.port pg.sslmode pg.user port ports postgrenosql.autocommit
postgrenosql.passwd postgrenosql.url postgrenosql.user postgresql.synchronous_commit prefetchmeta principal
queryrandomtimespan querytimespan querytimespandelimiter rados.configfile rados.id rados.pool randomtimeseriesorder
randomwritetimestamporder readallfields readallfieldsbyname readmodifywriteproportion readproportion readrecordcount
readretrycount reconnectionthroughput reconnectiontime recordcount redis.addr redis.addrs redis.cluster
redis.database redis.datatype redis.db redis.host redis.mode redis.password redis.port redis.timeout redis.tls_ca
redis.tls_cert redis.tls_insecure_skip_verify redis.tls_key redis.username redis.wait.replicas
reportlatencyforeacherror requestdistribution requestTimeout riak.bucket_type riak.debug riak.hosts riak.port
riak.r_val riak.read_retry_count riak.strong_consistency riak.strong_consistent_scans_bucket_type
riak.transaction_time_limit riak.w_val riak.wait_time_before_retry rocksdb.dir rocksdb.optionsfile s3.accessKeyId
s3.endPoint s3.maxConnections s3.maxErrorRetry s3.protocol s3.region s3.secretKey s3.sse s3.ssec
scanlengthdistribution scanproportion scylla.cluster scylla.connecttimeoutmillis scylla.coreconnections scylla.hosts
scylla.keyspace scylla.local_dc scylla.lwt scylla.maxconnections scylla.password scylla.port
scylla.readconsistencylevel scylla.readtimeoutmillis scylla.table scylla.tracing scylla.username scylla.useSSL
scylla.writeconsistencylevel seaweed.filerHost seaweed.filerPort seaweed.folder silence solr.base.url
solr.batch.mode solr.cloud solr.commit.within.time solr.jaas.conf.path solr.zookeeper.hosts spanner.credentials
spanner.db sparsity spin.sleep sqlite.db sqlite.mode status status.interval storageage.max storageage.min storeName
table table.flush tagcardinality tagcount tagkeylength tagpairdelimiter tagvaluelength taosdb tarantool.host
tarantool.port tarantool.space target threadcount tikv.apiversion tikv.async_commit tikv.batchsize
tikv.conncount tikv.one_pc tikv.pd tikv.type timeseries.granularity timestampinterval timestampkey timestampunits
updateproportion updaterecordcount updateretrycount url.prefix url.trace.delete url.trace.insert url.trace.read
url.trace.update userName valuekey valuetype verbose voltdb.password voltdb.ratelimit voltdb.scanall voltdb.servers
voltdb.user warmup.duration_ms warmup.reads_only warmupexecutiontime warmupoperationcount warmuptime window.start_s
workload client.count client.number insert.first open.arrivals open.begin_every_s open.instant_ms open.output
open.patience_ms open.profile open.rate open.seed open.shift writeallfields writebuffersize zeropadding
zookeeper.connectString zookeeper.sessionTimeout zookeeper.watchFlag
"""
NAMES: Final = frozenset(_NAMES.split())
# What begins like this is read by the libraries of a binding, whatever follows.
_FAMILIES: Final = (
    "es.setting.",
    "htrace.",
    "hbase.",
    "hadoop.",
    "accumulo.",
    "url.",
    "rocksdb.",
    "badger.",
    "tikv.",
    "taosdb.",
    "benchsite.",
)
# Names that are not near to what people mean by them.
_MEANT: Final[Mapping[str, str]] = {
    "threads": "threadcount",
    "thread": "threadcount",
    "threadscount": "threadcount",
    "records": "recordcount",
    "operations": "operationcount",
    "opcount": "operationcount",
    "distribution": "requestdistribution",
}
_LIKE: Final = 0.85  # of the letters: what is less alike is a property of a fork
_STOCK: Final = {"operationcount": "0", "threadcount": "1", "target": "0"}
_NO_PROPERTIES: Final = frozenset({"file", "db"})  # of command lines


def misspelt(options: Mapping[str, str]) -> list[tuple[str, str]]:
    """The names that nothing reads although one that is read is near, with that one."""
    return [
        (name[:100], near)
        for name in options
        if name not in NAMES and name not in _NO_PROPERTIES and not name.startswith(_FAMILIES)
        if (near := _find_near(name)) is not None and near not in options
    ]


@lru_cache(maxsize=1024)
def _find_near(name: str) -> str | None:
    """Kept, since the runs of a team have the same properties."""
    return _MEANT.get(name.lower()) or nearest(name, NAMES, _LIKE)


def effect(name: str) -> str:
    """The effect of a missing property of this name on YCSB."""
    declared = WORKLOAD_PROPERTIES.get(name)
    default = declared.default if declared is not None else _STOCK.get(name)
    if default:
        return FILE_OR_DEFAULT.format(default=default)
    return FILE_IF_ANY
