"""What people describe on pages: machines, clusters, databases, workloads and matrices, checked field by field."""

from runs.forms.clusters import ClusterForm
from runs.forms.databases import DatabaseForm
from runs.forms.machines import MachineForm
from runs.forms.matrices import MatrixForm
from runs.forms.workloads import WorkloadForm
