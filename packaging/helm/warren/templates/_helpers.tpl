{{- define "warren.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "warren.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "warren.name" . -}}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "warren.headless" -}}
{{- printf "%s-headless" (include "warren.fullname" .) -}}
{{- end -}}

{{- define "warren.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end -}}

{{/* Text, lists or maps in which there may be templates: {value, context}. */}}
{{- define "warren.rendered" -}}
{{- $text := kindIs "string" .value | ternary .value (.value | toYaml) -}}
{{- contains "{{" $text | ternary (tpl $text .context) $text -}}
{{- end -}}

{{- define "warren.selector" -}}
app.kubernetes.io/name: {{ include "warren.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "warren.labels" -}}
{{ include "warren.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* `metadata` of an object: {context, name, labels, annotations, namespace}. */}}
{{- define "warren.metadata" -}}
name: {{ .name }}
namespace: {{ default (include "warren.namespace" .context) .namespace }}
labels:
  {{- include "warren.labels" .context | nindent 2 }}
  {{- with .labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- $annotations := merge (dict) (default (dict) .annotations) .context.Values.commonAnnotations }}
{{- with $annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "warren.image" -}}
{{- $registry := default .Values.image.registry .Values.global.imageRegistry -}}
{{- $tag := default .Chart.AppVersion .Values.image.tag -}}
{{- $version := .Values.image.digest | empty | ternary (printf ":%s" $tag) (printf "@%s" .Values.image.digest) -}}
{{- with $registry }}{{ . }}/{{ end }}{{ .Values.image.repository }}{{ $version -}}
{{- end -}}

{{- define "warren.serviceAccountName" -}}
{{- .Values.serviceAccount.create | ternary (default (include "warren.fullname" .) .Values.serviceAccount.name) (default "default" .Values.serviceAccount.name) -}}
{{- end -}}

{{/* The secret of the first user's password. `existingPasswordSecret` is what one of RabbitMQ's charts calls it. */}}
{{- define "warren.passwordSecret" -}}
{{- coalesce .Values.auth.existingSecret .Values.auth.existingPasswordSecret (include "warren.fullname" .) -}}
{{- end -}}

{{- define "warren.hasOwnPassword" -}}
{{- if not (coalesce .Values.auth.existingSecret .Values.auth.existingPasswordSecret) }}true{{ end -}}
{{- end -}}

{{- define "warren.clusterSecret" -}}
{{- coalesce .Values.auth.existingClusterSecret .Values.auth.existingErlangSecret (include "warren.fullname" .) -}}
{{- end -}}

{{- define "warren.clusterSecretKey" -}}
{{- default .Values.auth.existingClusterSecretKey .Values.auth.existingSecretErlangKey -}}
{{- end -}}

{{- define "warren.hasOwnClusterSecret" -}}
{{- if not (coalesce .Values.auth.existingClusterSecret .Values.auth.existingErlangSecret) }}true{{ end -}}
{{- end -}}

{{- define "warren.isCluster" -}}
{{- if gt (int .Values.replicaCount) 1 }}true{{ end -}}
{{- end -}}

{{/* What a secret of the release has already, else what was given, else something drawn: {context, key, given, length}. */}}
{{- define "warren.keptOrDrawn" -}}
{{- $context := .context -}}
{{- $known := lookup "v1" "Secret" (include "warren.namespace" $context) (include "warren.fullname" $context) -}}
{{- if .given -}}
{{- .given -}}
{{- else if and $known (hasKey (default (dict) $known.data) .key) -}}
{{- index $known.data .key | b64dec -}}
{{- else -}}
{{- randAlphaNum .length -}}
{{- end -}}
{{- end -}}

{{- define "warren.nodeHost" -}}
{{- printf "%s.%s.svc.%s" (include "warren.headless" .) (include "warren.namespace" .) .Values.clusterDomain -}}
{{- end -}}

{{/* What warren.conf has. */}}
{{- define "warren.configuration" -}}
{{- if .Values.configuration -}}
{{ include "warren.rendered" (dict "value" .Values.configuration "context" $) }}
{{- else -}}
{{- $ports := .Values.containerPorts -}}
cluster_name = {{ default (include "warren.fullname" .) .Values.clusterName }}
listeners.tcp.default = {{ $ports.amqp }}
log.console.level = {{ .Values.logLevel }}
log.console.formatter = {{ .Values.logFormat }}
{{- if and .Values.tls.enabled .Values.tls.management }}
management.ssl.port = {{ $ports.managerTls }}
{{- include "warren.tlsOptions" (dict "context" $ "prefix" "management.ssl") }}
{{- else }}
management.tcp.port = {{ $ports.manager }}
{{- end }}
{{- if .Values.metrics.enabled }}
prometheus.tcp.port = {{ $ports.metrics }}
{{- else }}
warren.prometheus.enabled = false
{{- end }}
{{- if .Values.tls.enabled }}
listeners.ssl.default = {{ $ports.amqpTls }}
{{- include "warren.tlsOptions" (dict "context" $ "prefix" "ssl_options") }}
{{- end }}
{{- if .Values.memoryHighWatermark.enabled }}
vm_memory_high_watermark.{{ .Values.memoryHighWatermark.type }} = {{ .Values.memoryHighWatermark.value }}
{{- end }}
{{- with .Values.diskFreeLimit }}
disk_free_limit.absolute = {{ . }}
{{- end }}
{{- $tcp := default (dict) .Values.tcpListenOptions }}
{{- if and $tcp (ne false (get $tcp "enabled")) }}
{{- range $key := list "backlog" "nodelay" "keepalive" }}
{{- if hasKey $tcp $key }}
tcp_listen_options.{{ $key }} = {{ get $tcp $key }}
{{- end }}
{{- end }}
{{- with get $tcp "linger" }}
tcp_listen_options.linger.on = {{ .lingerOn }}
tcp_listen_options.linger.timeout = {{ .timeout }}
{{- end }}
{{- end }}
{{- if .Values.loadDefinition.enabled }}
load_definitions = {{ .Values.loadDefinition.file }}
{{- end }}
{{- if include "warren.isCluster" . }}
{{- range $number := until (int .Values.replicaCount) }}
cluster_formation.classic_config.nodes.{{ add1 $number }} = rabbit@{{ include "warren.fullname" $ }}-{{ $number }}.{{ include "warren.nodeHost" $ }}
{{- end }}
warren.cluster.listener = {{ $ports.cluster }}
warren.cluster.secret_file = /etc/warren/cluster-secret/secret
{{- if .Values.clusterTls.enabled }}
warren.cluster.tls.cacertfile = /etc/warren/cluster-tls/ca.crt
warren.cluster.tls.certfile = /etc/warren/cluster-tls/tls.crt
warren.cluster.tls.keyfile = /etc/warren/cluster-tls/tls.key
{{- end }}
{{- end }}
{{- end }}
{{- with .Values.extraConfiguration }}
{{ include "warren.rendered" (dict "value" . "context" $) }}
{{- end }}
{{- end -}}

{{- define "warren.tlsOptions" -}}
{{- $tls := .context.Values.tls }}
{{ .prefix }}.certfile = /etc/warren/tls/{{ $tls.certFilename }}
{{ .prefix }}.keyfile = /etc/warren/tls/{{ $tls.certKeyFilename }}
{{ .prefix }}.verify = {{ $tls.sslOptionsVerify }}
{{- if eq $tls.sslOptionsVerify "verify_peer" }}
{{ .prefix }}.cacertfile = /etc/warren/tls/{{ $tls.certCAFilename }}
{{ .prefix }}.fail_if_no_peer_cert = {{ $tls.failIfNoPeerCert }}
{{- end }}
{{- end -}}

{{/* A probe: {context, probe, custom, command}. */}}
{{- define "warren.probe" -}}
{{- if .custom -}}
{{ include "warren.rendered" (dict "value" .custom "context" .context) }}
{{- else -}}
exec:
  command: [/usr/bin/warren, ctl, --data-dir, {{ .context.Values.persistence.mountPath }}/data, {{ .command }}]
{{ omit .probe "enabled" | toYaml }}
{{- end -}}
{{- end -}}

{{/* What values of charts of RabbitMQ ask for and nothing here does: {context}. */}}
{{- define "warren.foreignRefusals" -}}
{{- $missing := list -}}
{{- range $key := list "plugins" "extraPlugins" -}}
{{- $value := get $.Values $key -}}
{{- $words := kindIs "slice" $value | ternary $value (regexFindAll "[a-z0-9_]+" (toString $value) -1) -}}
{{- range $plugin := list "rabbitmq_mqtt" "rabbitmq_web_mqtt" "rabbitmq_stomp" "rabbitmq_web_stomp" "rabbitmq_stream" "rabbitmq_stream_management" "rabbitmq_amqp1_0" "rabbitmq_auth_backend_ldap" "rabbitmq_trust_store" -}}
{{- if has $plugin $words }}{{ $missing = append $missing $plugin }}{{ end -}}
{{- end -}}
{{- end -}}
{{- with $missing -}}
{{- fail (printf "plugins or extraPlugins contain unsupported plugins: %s; see docs/differences.md" (uniq . | join ", ")) -}}
{{- end -}}
{{- if dig "enabled" false (default (dict) .Values.ldap) -}}
{{- fail "ldap.enabled: users are not looked up by LDAP; let an HTTP service ask the directory, use OAuth 2, or make internal users" -}}
{{- end -}}
{{- if and (hasKey (default (dict) .Values.clustering) "enabled") (not (get .Values.clustering "enabled")) (include "warren.isCluster" .) -}}
{{- fail "clustering.enabled is false, and replicaCount is more than 1: pods that form no cluster would have messages of their own each" -}}
{{- end -}}
{{- if dig "tls" "enabled" false .Values.auth -}}
{{- fail "auth.tls is called tls here: tls.enabled, tls.existingSecret, tls.sslOptionsVerify, tls.failIfNoPeerCert" -}}
{{- end -}}
{{- if dig "enabled" false (default (dict) .Values.definitions) -}}
{{- fail "definitions.enabled: definitions are a file in a secret here, see loadDefinition and extraSecrets" -}}
{{- end -}}
{{- with .Values.initScripts -}}
{{- fail "initScripts: the image has no shell; initContainers and sidecars may have one, or the image by RabbitMQ's names (docs/installing.md)" -}}
{{- end -}}
{{- if dig "enabled" false (default (dict) .Values.diagnosticMode) -}}
{{- fail "diagnosticMode.enabled: the image has no program that only waits; kubectl debug brings one" -}}
{{- end -}}
{{- end -}}

{{/* What cannot be meant. */}}
{{- define "warren.refusals" -}}
{{- include "warren.foreignRefusals" . -}}
{{- if and .Values.tls.enabled (not .Values.tls.existingSecret) -}}
{{- fail "tls.enabled needs tls.existingSecret, a secret with the certificate and its key" -}}
{{- end -}}
{{- if and .Values.clusterTls.enabled (not .Values.clusterTls.existingSecret) -}}
{{- fail "clusterTls.enabled needs clusterTls.existingSecret, a secret with ca.crt, tls.crt and tls.key" -}}
{{- end -}}
{{- if and .Values.loadDefinition.enabled (not .Values.loadDefinition.existingSecret) -}}
{{- fail "loadDefinition.enabled needs loadDefinition.existingSecret, a secret with the file of definitions" -}}
{{- end -}}
{{- if and .Values.persistence.existingClaim (include "warren.isCluster" .) -}}
{{- fail "persistence.existingClaim is for one replica: each node of a cluster has a volume of its own" -}}
{{- end -}}
{{- if and (include "warren.isCluster" .) (not .Values.persistence.enabled) -}}
{{- if not .Values.persistence.mayBeLost -}}
{{- fail "a cluster without persistence.enabled loses a node with each pod; persistence.mayBeLost says that this is meant" -}}
{{- end -}}
{{- end -}}
{{- end -}}
